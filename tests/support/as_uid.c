/* as_uid UID GID COMMAND [ARG...]: run COMMAND as that user, with no supplementary groups.
 *
 * The tests need peers that the kernel itself tells apart.  The guests have neither login programs
 * nor a user database, so the identity is numeric and this helper is all it takes.
 * Exit status: that of COMMAND; 125 for a wrong call or a refused change of identity; 126 or 127
 * when COMMAND cannot be run or does not exist, as a shell would say it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* (uid_t)-1 means "leave unchanged" to setresuid(), so it must never be taken for an identity. */
static int parse_id(const char* text, const char* what, unsigned* id) {
    char* end = NULL;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value >= 0xffffffffUL) {
        fprintf(stderr, "as_uid: '%s' is no %s: give a decimal number below 4294967295\n", text,
                what);
        return -1;
    }
    *id = (unsigned)value;
    return 0;
}

int main(int argc, char** argv) {
    unsigned uid = 0;
    unsigned gid = 0;

    if (argc < 4) {
        fprintf(stderr, "usage: as_uid UID GID COMMAND [ARG...]\n");
        return 125;
    }
    if (parse_id(argv[1], "user id", &uid) != 0 || parse_id(argv[2], "group id", &gid) != 0)
        return 125;
    if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) {
        fprintf(stderr, "as_uid: cannot become uid %u gid %u: %s (it takes root)\n", uid, gid,
                strerror(errno));
        return 125;
    }
    execvp(argv[3], &argv[3]);
    fprintf(stderr, "as_uid: cannot run '%s': %s\n", argv[3], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
