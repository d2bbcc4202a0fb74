# bash completion for cxlpoolctl(1)                                         -*- shell-script -*-

_cxlpoolctl() {
    local cur prev words cword
    _init_completion || return

    # The options come from the program's own help, so that they are always those it takes.
    local verbs='topology profile plan simulate status stats reload verdict cell tenant'
    local verb=${words[1]:-} options=1
    case $cword:$verb in
    1:*)
        mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$cur")
        return
        ;;
    2:plan)
        mapfile -t COMPREPLY < <(compgen -W 'fleet placement --help' -- "$cur")
        return
        ;;
    2:profile)
        mapfile -t COMPREPLY < <(compgen -W "check $("$1" profile --help 2>/dev/null |
            sed -n 's/^  \(--[a-z-]*\).*/\1/p')" -- "$cur")
        return
        ;;
    2:tenant)
        mapfile -t COMPREPLY < <(compgen -W 'list show add set salt weight reserve forget receipts --help' -- "$cur")
        return
        ;;
    2:receipt)
        mapfile -t COMPREPLY < <(compgen -W 'check --help' -- "$cur")
        return
        ;;
    2:cell)
        mapfile -t COMPREPLY < <(compgen -W 'list trust taint poison --help' -- "$cur")
        return
        ;;
    esac
    case $verb in
    plan | cell | receipt | tenant) options=2 ;;
    profile) [[ ${words[2]:-} != check ]] || options=2 ;;
    esac

    case $prev in
    --from | --save | --with | --profile | --context | --socket | --plot | --trace)
        _filedir
        return
        ;;
    --format)
        mapfile -t COMPREPLY < <(compgen -W 'table json prometheus' -- "$cur")
        return
        ;;
    --tier)
        mapfile -t COMPREPLY < <(compgen -W 'hbm dram numa_far cxl remote_dram disk remote' -- "$cur")
        return
        ;;
    --regime)
        mapfile -t COMPREPLY < <(compgen -W 'private copy_only coherent all' -- "$cur")
        return
        ;;
    --policy)
        mapfile -t COMPREPLY < <(compgen -W 'fair lru all' -- "$cur")
        return
        ;;
    --count)
        mapfile -t COMPREPLY < <(compgen -W 'prefix blocks' -- "$cur")
        return
        ;;
    --assign)
        mapfile -t COMPREPLY < <(compgen -W 'request-modulo first-block single' -- "$cur")
        return
        ;;
    --axis)
        mapfile -t COMPREPLY < <(compgen -S = -W 'model tokenizer serializer position policy admitter
            weights adapter dtype kv_quant rope page_tokens layers shard layout' -- "$cur")
        compopt -o nospace
        return
        ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$("$1" "${words[@]:1:options}" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')" \
            -- "$cur")
    else
        # --from and profile check take several files.
        _filedir
    fi
} &&
    complete -F _cxlpoolctl cxlpoolctl
