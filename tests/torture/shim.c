/* Between a program and the system: counts the calls that concern one folder, and makes one of them fail.
 *
 * cc -shared -fPIC -O1 -o shim.so shim.c -ldl;  LD_PRELOAD=./shim.so program
 *
 * shim_arm(folder, n, what): from now on the n-th call below the folder fails with the error `what`; with ENOSPC all that
 * write from there on, as on a full disk; what = 0 ends the process there, as a power cut would; n = 0 only counts. shim_count(): the calls so far. shim_failed(): the name of the
 * call that failed. shim_shadow(folder): what is synced is copied there, which is what a power cut leaves: `i<inode>` the
 * bytes of a file at its last sync, `d<inode>` the names in a folder at its last sync ("inode name" in each line).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char watched[PATH_MAX], shadow[PATH_MAX], failed[64];
static long at, calls;
static int with;

void shim_arm(const char *folder, long n, int what) {
    snprintf(watched, sizeof watched, "%s", folder);
    at = n;
    with = what;
    calls = 0;
    failed[0] = 0;
}
void shim_shadow(const char *folder) { snprintf(shadow, sizeof shadow, "%s", folder); }
long shim_count(void) { return calls; }
const char *shim_failed(void) { return failed; }

static int below(const char *path) {
    size_t n = strlen(watched);
    return n && path && !strncmp(path, watched, n) && (path[n] == '/' || !path[n]);
}
static int below_fd(int fd) {
    char name[64], path[PATH_MAX];
    if (!watched[0] || fd < 0) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return below(path);
}
static int writes(const char *name) { return strstr(name, "write") || strstr(name, "truncate") || !strcmp(name, "mkdir"); }
/* 1 if this call is to fail; errno is set. */
static int fails(const char *name, int concerned) {
    if (!concerned) return 0;
    long number = __sync_add_and_fetch(&calls, 1);
    if (with == ENOSPC ? !at || number < at || !writes(name) : number != at) return 0;
    snprintf(failed, sizeof failed, "%s", name);
    if (!with) _exit(77);
    errno = with;
    return 1;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void note(int fd) {
    struct stat is;
    char to[PATH_MAX + 64], buffer[1 << 16];
    if (!shadow[0] || !below_fd(fd) || fstat(fd, &is)) return;
    snprintf(to, sizeof to, "%s/%c%lu", shadow, S_ISDIR(is.st_mode) ? 'd' : 'i', (unsigned long)is.st_ino);
    FILE *out = fopen(to, "wb");
    if (!out) return;
    if (S_ISDIR(is.st_mode)) {
        int again = openat(fd, ".", O_RDONLY | O_DIRECTORY);
        DIR *names = again < 0 ? NULL : fdopendir(again);
        for (struct dirent *e; names && (e = readdir(names));)
            if (e->d_name[0] != '.' || strlen(e->d_name) > 2) fprintf(out, "%lu %s\n", (unsigned long)e->d_ino, e->d_name);
        if (names) closedir(names);
    } else {
        snprintf(buffer, sizeof buffer, "/proc/self/fd/%d", fd);
        FILE *in = fopen(buffer, "rb");
        for (size_t n; in && (n = fread(buffer, 1, sizeof buffer, in));) fwrite(buffer, 1, n, out);
        if (in) fclose(in);
    }
    fclose(out);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list); \
        return fails(#name, below(path)) ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

ssize_t read(int fd, void *to, size_t n) { REAL(read); return fails("read", below_fd(fd)) ? -1 : real(fd, to, n); }
ssize_t write(int fd, const void *from, size_t n) { REAL(write); return fails("write", below_fd(fd)) ? -1 : real(fd, from, n); }
ssize_t pread(int fd, void *to, size_t n, off_t o) { REAL(pread); return fails("pread", below_fd(fd)) ? -1 : real(fd, to, n, o); }
ssize_t pread64(int fd, void *to, size_t n, off64_t o) { REAL(pread64); return fails("pread", below_fd(fd)) ? -1 : real(fd, to, n, o); }
ssize_t pwrite(int fd, const void *from, size_t n, off_t o) { REAL(pwrite); return fails("pwrite", below_fd(fd)) ? -1 : real(fd, from, n, o); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t o) { REAL(pwrite64); return fails("pwrite", below_fd(fd)) ? -1 : real(fd, from, n, o); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return fails("ftruncate", below_fd(fd)) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return fails("ftruncate", below_fd(fd)) ? -1 : real(fd, n); }
int rename(const char *a, const char *b) { REAL(rename); return fails("rename", below(a)) ? -1 : real(a, b); }
int unlink(const char *path) { REAL(unlink); return fails("unlink", below(path)) ? -1 : real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); return fails("mkdir", below(path)) ? -1 : real(path, mode); }
int flock(int fd, int how) { REAL(flock); return fails("flock", below_fd(fd)) ? -1 : real(fd, how); }
int fsync(int fd) {
    REAL(fsync);
    if (fails("fsync", below_fd(fd))) return -1;
    int done = real(fd);
    if (!done) note(fd);
    return done;
}
int fdatasync(int fd) {
    REAL(fdatasync);
    if (fails("fdatasync", below_fd(fd))) return -1;
    int done = real(fd);
    if (!done) note(fd);
    return done;
}
void *mmap(void *to, size_t n, int prot, int flags, int fd, off_t o) { REAL(mmap); return fails("mmap", below_fd(fd)) ? MAP_FAILED : real(to, n, prot, flags, fd, o); }
void *mmap64(void *to, size_t n, int prot, int flags, int fd, off64_t o) { REAL(mmap64); return fails("mmap", below_fd(fd)) ? MAP_FAILED : real(to, n, prot, flags, fd, o); }
