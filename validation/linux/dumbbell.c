/* Linux's own TCP through one drop-tail bottleneck: two network namespaces, a TUN device in each, and this process
 * between them. Prints one JSON line with the field names of an Evenflow record.
 *
 *   senders (namespace A) -> [chosen and random losses] -> FIFO -> transmitter -> delay -> receivers (namespace B)
 *                         <-------------------------------- delay <---------------------
 *
 * Packets are IP packets (1500 bytes with 1448 of payload); the limit of the FIFO is in waiting packets, the one in
 * transmission not counted. The link runs in virtual time: a late wake-up handles what it missed with the times at
 * which it was due, so lateness never becomes an error of the rate. How late packets left is part of the record.
 *
 * Nothing outside the two namespaces is touched; they have no name, no route to anywhere and end with this process.
 * Exit codes: 0 a record was printed, 2 wrong arguments, 3 this machine cannot (one line on stderr says why).
 *
 * cc -std=gnu11 -O2 -Wall -Wextra -o dumbbell dumbbell.c
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_GROUPS = 4, MAX_FLOWS = 256, PACKET_MAX = 2048, FIRST_PORT = 10000, SERVER_PORT = 5001, MAX_CHOSEN = 1024 };
#define SECOND 1000000000LL
#define A_ADDRESS 0x0a4d0001u /* 10.77.0.1 */
#define B_ADDRESS 0x0a4d0002u

typedef int64_t ns_t;

/* ------------------------------------------------------------------------------------------------ arguments */

struct group {
    char name[32], congestion_control[16];
    int flows, first;
    ns_t start[MAX_FLOWS];
    int64_t bytes; /* a flow's whole transfer; 0: endless */
};

static struct {
    struct group groups[MAX_GROUPS];
    int group_count, flow_count;
    double rate;     /* bit/s */
    ns_t delay;      /* each way */
    ns_t spike_at, spike; /* packets that leave within 200 ms of `spike_at` take `spike` longer */
    int limit;       /* waiting packets */
    int mark_above;  /* CE on ECN-capable packets that find this many waiting; 0: never */
    double loss;     /* probability */
    int every;       /* each n-th data packet is lost; 0: none */
    ns_t duration, warmup;
    uint64_t seed;
    int ecn;         /* net.ipv4.tcp_ecn of both ends */
    int window;      /* bytes: ACKs that pass tell no larger receive window; 0: as the receiver says */
    int no_delay;    /* the senders' TCP_NODELAY */
    ns_t interval;   /* of the samples */
    const char *samples, *log, *trace;
    int chosen[MAX_CHOSEN], chosen_count; /* data packets of flow 0 to lose, counted from 0, retransmissions too */
} args = {.rate = 10e6, .delay = 10000000, .limit = 24, .duration = 10 * SECOND, .interval = 10000000, .seed = 1};

static void die(int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(code);
}

static double seconds(ns_t t) { return (double)t / 1e9; }

static ns_t from_seconds(const char *text) { return (ns_t)(atof(text) * 1e9 + 0.5); }

/* name:congestion control:start,start,...[:bytes]; one flow for each start. */
static void parse_group(char *text)
{
    if (args.group_count == MAX_GROUPS) die(2, "at most %d groups", MAX_GROUPS);
    struct group *g = &args.groups[args.group_count++];
    char *part[4] = {0};
    int n = 0;
    for (char *p = strtok(text, ":"); p && n < 4; p = strtok(NULL, ":")) part[n++] = p;
    if (n < 3) die(2, "group: name:congestion control:start,start,...[:bytes]");
    snprintf(g->name, sizeof g->name, "%s", part[0]);
    snprintf(g->congestion_control, sizeof g->congestion_control, "%s", part[1]);
    g->bytes = n > 3 ? atoll(part[3]) : 0;
    g->first = args.flow_count;
    for (char *p = strtok(part[2], ","); p; p = strtok(NULL, ",")) {
        if (++args.flow_count > MAX_FLOWS) die(2, "at most %d flows", MAX_FLOWS);
        g->start[g->flows++] = from_seconds(p);
    }
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (strncmp(argv[i], "--", 2) != 0 || !value) die(2, "expected --key=value, found %s", argv[i]);
        *value++ = 0;
        const char *key = argv[i] + 2;
        if (!strcmp(key, "group")) parse_group(value);
        else if (!strcmp(key, "rate")) args.rate = atof(value);
        else if (!strcmp(key, "delay")) args.delay = from_seconds(value);
        else if (!strcmp(key, "spike-at")) args.spike_at = from_seconds(value);
        else if (!strcmp(key, "spike")) args.spike = from_seconds(value);
        else if (!strcmp(key, "limit")) args.limit = atoi(value);
        else if (!strcmp(key, "mark-above")) args.mark_above = atoi(value);
        else if (!strcmp(key, "loss")) args.loss = atof(value);
        else if (!strcmp(key, "every")) args.every = atoi(value);
        else if (!strcmp(key, "duration")) args.duration = from_seconds(value);
        else if (!strcmp(key, "warmup")) args.warmup = from_seconds(value);
        else if (!strcmp(key, "seed")) args.seed = strtoull(value, NULL, 10);
        else if (!strcmp(key, "ecn")) args.ecn = atoi(value);
        else if (!strcmp(key, "window")) args.window = atoi(value);
        else if (!strcmp(key, "no-delay")) args.no_delay = atoi(value);
        else if (!strcmp(key, "interval")) args.interval = from_seconds(value);
        else if (!strcmp(key, "samples")) args.samples = value;
        else if (!strcmp(key, "log")) args.log = value;
        else if (!strcmp(key, "trace")) args.trace = value;
        else if (!strcmp(key, "drop"))
            for (char *p = strtok(value, ","); p && args.chosen_count < MAX_CHOSEN; p = strtok(NULL, ","))
                args.chosen[args.chosen_count++] = atoi(p);
        else die(2, "unknown: --%s", key);
    }
    if (args.flow_count == 0) die(2, "no --group");
    if (args.rate < 1e4 || args.limit < 1 || args.delay < 0 || args.interval < 100000) die(2, "out of range");
    if (args.window < 0) die(2, "out of range");
    if (args.duration <= args.warmup || args.duration > 600 * SECOND) die(2, "warmup < duration <= 600 s");
}

/* ------------------------------------------------------------------------------------------ the two namespaces */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return done;
}

static void sysctl_set(const char *name, const char *value)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/sys/net/%s", name);
    if (!write_file(path, value)) die(3, "cannot set net/%s to %s: %s", name, value, strerror(errno));
}

/* A new namespace with a TUN in it; this process is inside afterwards. Returns the TUN, sets the namespace's fd. */
static int make_end(uint32_t own, int *namespace)
{
    if (unshare(CLONE_NEWNET) != 0) die(3, "cannot make a network namespace: %s", strerror(errno));
    *namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    /* The device appears in the namespace in which /dev/net/tun is opened. */
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tun < 0) die(3, "cannot open /dev/net/tun: %s", strerror(errno));
    sysctl_set("ipv6/conf/all/disable_ipv6", "1"); /* no router solicitations on the link */
    sysctl_set("ipv6/conf/default/disable_ipv6", "1");
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(request.ifr_name, IFNAMSIZ, "tun0");
    if (ioctl(tun, TUNSETIFF, &request) != 0) die(3, "cannot make a TUN device: %s", strerror(errno));
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(own)}};
    memcpy(&request.ifr_addr, &address, sizeof address);
    bool done = ioctl(control, SIOCSIFADDR, &request) == 0;
    address.sin_addr.s_addr = htonl(0xffffff00u);
    memcpy(&request.ifr_netmask, &address, sizeof address);
    done = done && ioctl(control, SIOCSIFNETMASK, &request) == 0;
    request.ifr_qlen = 10000; /* the ring before this process must never be what drops */
    if (ioctl(control, SIOCSIFTXQLEN, &request) != 0 && errno != EPERM) done = false;
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    done = done && ioctl(control, SIOCSIFFLAGS, &request) == 0;
    close(control);
    if (!done) die(3, "cannot set up the TUN device: %s", strerror(errno));
    /* Linux's defaults, written out because a machine may have others. */
    sysctl_set("ipv4/tcp_no_metrics_save", "1");
    sysctl_set("ipv4/tcp_rmem", "4096 131072 33554432");
    sysctl_set("ipv4/tcp_wmem", "4096 16384 4194304");
    sysctl_set("ipv4/tcp_sack", "1");
    sysctl_set("ipv4/tcp_dsack", "1");
    sysctl_set("ipv4/tcp_recovery", "1");
    sysctl_set("ipv4/tcp_early_retrans", "3");
    sysctl_set("ipv4/tcp_frto", "2");
    sysctl_set("ipv4/tcp_timestamps", "1");
    sysctl_set("ipv4/tcp_reordering", "3");
    char ecn[12];
    snprintf(ecn, sizeof ecn, "%d", args.ecn);
    sysctl_set("ipv4/tcp_ecn", ecn);
    return tun;
}

static uint64_t inode_of(const char *path)
{
    char link[64] = {0};
    if (readlink(path, link, sizeof link - 1) < 0) return 0;
    char *bracket = strchr(link, '[');
    return bracket ? strtoull(bracket + 1, NULL, 10) : 0;
}

/* Without root: a user namespace in which we are root. */
static void become_able(void)
{
    if (geteuid() == 0) return;
    char uid[64], gid[64];
    snprintf(uid, sizeof uid, "0 %u 1", (unsigned)geteuid());
    snprintf(gid, sizeof gid, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER) != 0) die(3, "not root, and user namespaces are not allowed: %s", strerror(errno));
    write_file("/proc/self/setgroups", "deny");
    if (!write_file("/proc/self/uid_map", uid) || !write_file("/proc/self/gid_map", gid))
        die(3, "not root, and the user namespace cannot be set up: %s", strerror(errno));
}

/* ------------------------------------------------------------------------------------------------ end points */

static struct shared {
    volatile ns_t origin; /* CLOCK_MONOTONIC of time 0; 0 until everything is ready */
    volatile int ready;
    volatile int64_t received[MAX_FLOWS];
} *shared;

static int sockets[MAX_FLOWS];
static const struct group *group_of[MAX_FLOWS];

static ns_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static bool realtime(int priority)
{
    struct sched_param p = {.sched_priority = priority};
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    return sched_setscheduler(0, SCHED_FIFO, &p) == 0;
}

static void child_begins(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) _exit(1);
    signal(SIGPIPE, SIG_IGN);
    realtime(5);
}

static ns_t start_of(int flow)
{
    return group_of[flow]->start[flow - group_of[flow]->first];
}

/* Sockets are made by the parent in namespace A, so that it can read TCP_INFO too. */
static void make_sockets(void)
{
    for (int f = 0; f < args.flow_count; f++) {
        const char *cc = group_of[f]->congestion_control;
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(FIRST_PORT + f)), .sin_addr = {htonl(A_ADDRESS)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) die(3, "cannot make a TCP socket: %s", strerror(errno));
        if (setsockopt(fd, IPPROTO_TCP, 13 /* TCP_CONGESTION */, cc, (socklen_t)strlen(cc)) != 0)
            die(3, "this kernel does not give us congestion control %s: %s", cc, strerror(errno));
        if (setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &args.no_delay, sizeof args.no_delay) != 0)
            die(3, "cannot set TCP_NODELAY: %s", strerror(errno));
        if (bind(fd, (struct sockaddr *)&own, sizeof own) != 0) die(3, "cannot bind: %s", strerror(errno));
        sockets[f] = fd;
    }
}

static void run_senders(void)
{
    static char data[65536];
    int64_t left[MAX_FLOWS];
    bool started[MAX_FLOWS] = {false};
    int poller = epoll_create1(EPOLL_CLOEXEC);
    while (shared->origin == 0) usleep(200);
    for (int f = 0; f < args.flow_count; f++) left[f] = group_of[f]->bytes ? group_of[f]->bytes : INT64_MAX;
    for (;;) {
        ns_t now = clock_now() - shared->origin, next = INT64_MAX;
        for (int f = 0; f < args.flow_count; f++) {
            if (started[f]) continue;
            if (start_of(f) > now) {
                if (start_of(f) < next) next = start_of(f);
                continue;
            }
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(SERVER_PORT), .sin_addr = {htonl(B_ADDRESS)}};
            if (connect(sockets[f], (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) _exit(1);
            struct epoll_event event = {.events = EPOLLOUT, .data.u32 = (uint32_t)f};
            epoll_ctl(poller, EPOLL_CTL_ADD, sockets[f], &event);
            started[f] = true;
        }
        struct epoll_event events[64];
        struct timespec wait = {.tv_sec = (next - now) / SECOND, .tv_nsec = (next - now) % SECOND};
        int n = (int)syscall(SYS_epoll_pwait2, poller, events, 64, next == INT64_MAX ? NULL : &wait, NULL, 0);
        for (int i = 0; i < n; i++) {
            int f = (int)events[i].data.u32;
            while (left[f] > 0) {
                size_t chunk = left[f] < (int64_t)sizeof data ? (size_t)left[f] : sizeof data;
                ssize_t wrote = write(sockets[f], data, chunk);
                if (wrote < 0 && errno == EAGAIN) break;
                if (wrote <= 0) left[f] = 0;
                else left[f] -= wrote;
            }
            if (left[f] <= 0) epoll_ctl(poller, EPOLL_CTL_DEL, sockets[f], NULL);
        }
    }
}

static void run_receivers(int listener)
{
    static char data[1 << 18];
    int flow_of[4096];
    int poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    shared->ready = 1;
    for (;;) {
        struct epoll_event events[64];
        int n = epoll_wait(poller, events, 64, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                struct sockaddr_in from;
                socklen_t length = sizeof from;
                int accepted = accept4(listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (accepted < 0 || accepted >= 4096) continue;
                flow_of[accepted] = ntohs(from.sin_port) - FIRST_PORT;
                struct epoll_event more = {.events = EPOLLIN, .data.fd = accepted};
                epoll_ctl(poller, EPOLL_CTL_ADD, accepted, &more);
                continue;
            }
            ssize_t got;
            while ((got = read(fd, data, sizeof data)) > 0) shared->received[flow_of[fd]] += got;
            if (got == 0) epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
        }
    }
}

/* ------------------------------------------------------------------------------------- packets and their log */

struct packet {
    struct packet *next;
    ns_t at;      /* when it is due: end of its transmission, then its arrival at the far end */
    int record;   /* its line in the log, -1: none */
    int length;
    uint8_t bytes[PACKET_MAX];
};

struct fifo {
    struct packet *head, *tail;
    int length;
};

static void push(struct fifo *f, struct packet *p)
{
    p->next = NULL;
    if (f->tail) f->tail->next = p;
    else f->head = p;
    f->tail = p;
    f->length++;
}

static struct packet *pop(struct fifo *f)
{
    struct packet *p = f->head;
    f->head = p->next;
    if (!f->head) f->tail = NULL;
    f->length--;
    return p;
}

static struct fifo spare;

static struct packet *fresh(void)
{
    if (spare.head) return pop(&spare);
    struct packet *p = malloc(sizeof *p);
    if (!p) die(3, "out of memory");
    return p;
}

/* What the link and the log need of a segment; `flow` is -1 for what is no segment of ours. */
struct segment {
    int flow;
    bool forward, syn;
    int payload, flags, window, ecn, blocks;
    uint32_t seq, ack, tsval, tsecr;
    uint32_t block[4][2];
};

static uint16_t get16(const uint8_t *b) { return (uint16_t)(b[0] << 8 | b[1]); }

static uint32_t get32(const uint8_t *b) { return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]; }

static struct segment read_segment(const uint8_t *b, int length, bool forward)
{
    struct segment s = {.flow = -1, .forward = forward};
    if (length < 40 || b[0] >> 4 != 4 || b[9] != IPPROTO_TCP) return s;
    int ip = (b[0] & 15) * 4;
    const uint8_t *t = b + ip;
    int header = (t[12] >> 4) * 4, flow = get16(forward ? t : t + 2) - FIRST_PORT;
    if (flow < 0 || flow >= args.flow_count || ip + header > length) return s;
    s.flow = flow;
    s.ecn = b[1] & 3;
    s.payload = length - ip - header;
    s.flags = t[13];
    s.syn = t[13] & 2;
    s.seq = get32(t + 4);
    s.ack = get32(t + 8);
    s.window = get16(t + 14);
    for (int i = 20; i + 1 < header && t[i] != 0;) {
        if (t[i] == 1) {
            i++;
            continue;
        }
        if (t[i] == 8) s.tsval = get32(t + i + 2), s.tsecr = get32(t + i + 6);
        if (t[i] == 5)
            for (int j = 2; j + 8 <= t[i + 1] && s.blocks < 4; j += 8, s.blocks++)
                s.block[s.blocks][0] = get32(t + i + j), s.block[s.blocks][1] = get32(t + i + j + 4);
        if (t[i + 1] < 2) break;
        i += t[i + 1];
    }
    return s;
}

enum fate { SENT, LOST_LIMIT, LOST_RANDOM, LOST_CHOSEN, MARKED };
static const char *const FATES[] = {"sent", "limit", "loss", "chosen", "marked"};

struct line {
    ns_t arrived, delivered;
    struct segment s;
    enum fate fate;
    int waiting;
    bool again;
};

static struct line *lines;
static int line_count, line_room;

static int log_line(ns_t now, const struct segment *s, enum fate fate, int waiting, bool again)
{
    if (!args.log || s->flow < 0) return -1;
    if (line_count == line_room) {
        line_room = line_room ? 2 * line_room : 1 << 16;
        lines = realloc(lines, (size_t)line_room * sizeof *lines);
        if (!lines) die(3, "out of memory");
    }
    lines[line_count] = (struct line){.arrived = now, .delivered = -1, .s = *s, .fate = fate, .waiting = waiting, .again = again};
    return line_count++;
}

static uint32_t isn[2][MAX_FLOWS]; /* of the sender, of the receiver */

static void write_log(void)
{
    FILE *out = fopen(args.log, "w");
    if (!out) die(2, "cannot write %s", args.log);
    fprintf(out, "time_s,delivered_s,direction,flow,seq,payload,ack,flags,ecn,window,tsval,tsecr,again,fate,waiting,sack\n");
    for (int i = 0; i < line_count; i++) {
        const struct line *l = &lines[i];
        const struct segment *s = &l->s;
        uint32_t from = isn[s->forward ? 0 : 1][s->flow], to = isn[s->forward ? 1 : 0][s->flow];
        char flags[9];
        for (int bit = 0; bit < 8; bit++) flags[bit] = s->flags & (0x80 >> bit) ? "CEUAPRSF"[bit] : '.';
        flags[8] = 0;
        fprintf(out, "%.6f,%.6f,%s,%d,%u,%d,%u,%s,%d,%d,%u,%u,%d,%s,%d,", seconds(l->arrived), seconds(l->delivered),
                s->forward ? "data" : "ack", s->flow, s->seq - from, s->payload, s->flags & 16 ? s->ack - to : 0, flags,
                s->ecn, s->window, s->tsval, s->tsecr, l->again, FATES[l->fate], l->waiting);
        for (int b = 0; b < s->blocks; b++)
            fprintf(out, "%s%u-%u", b ? " " : "", s->block[b][0] - to, s->block[b][1] - to);
        fputc('\n', out);
    }
    fclose(out);
}

/* ------------------------------------------------------------------------------------------------- TCP_INFO */

/* The kernel's struct tcp_info by offset: an installed header may be older than the running kernel. */
static const struct field {
    const char *name;
    int offset, size;
} FIELDS[] = {
    {"ca_state", 1, 1},       {"backoff", 4, 1},       {"rto_us", 8, 4},          {"snd_mss", 16, 4},
    {"unacked", 24, 4},       {"sacked", 28, 4},       {"lost", 32, 4},           {"retrans", 36, 4},
    {"rtt_us", 68, 4},        {"rttvar_us", 72, 4},    {"ssthresh", 76, 4},       {"cwnd", 80, 4},
    {"reordering", 88, 4},    {"total_retrans", 100, 4}, {"min_rtt_us", 148, 4},  {"delivered", 192, 4},
    {"delivered_ce", 196, 4}, {"bytes_retrans", 208, 8}, {"dsack_dups", 216, 4},  {"reord_seen", 220, 4},
    {"snd_wnd", 228, 4},      {"notsent", 144, 4},     {"total_rto", 240, 2},   {"busy_us", 168, 8},       {"rwnd_limited_us", 176, 8},
    {"sndbuf_limited_us", 184, 8},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS, INFO_BYTES = 512 };
enum { CA_STATE = 0, RTT = 8, SSTHRESH = 10, CWND = 11 };

static void read_info(int flow, uint64_t value[FIELD_COUNT])
{
    uint8_t raw[INFO_BYTES] = {0};
    socklen_t length = sizeof raw;
    memset(value, 0, FIELD_COUNT * sizeof *value);
    if (getsockopt(sockets[flow], IPPROTO_TCP, 11 /* TCP_INFO */, raw, &length) != 0) return;
    for (int i = 0; i < FIELD_COUNT; i++) memcpy(&value[i], raw + FIELDS[i].offset, (size_t)FIELDS[i].size); /* little endian */
}

static FILE *open_table(const char *path, const char *first)
{
    FILE *out = fopen(path, "w");
    if (!out) die(2, "cannot write %s", path);
    setvbuf(out, NULL, _IOFBF, 1 << 20);
    fputs(first, out);
    for (int i = 0; i < FIELD_COUNT; i++) fprintf(out, ",%s", FIELDS[i].name);
    fputc('\n', out);
    return out;
}

static void write_info(FILE *out, ns_t now, int flow, const uint64_t value[FIELD_COUNT])
{
    fprintf(out, "%.6f,%d", seconds(now), flow);
    for (int i = 0; i < FIELD_COUNT; i++) fprintf(out, ",%llu", (unsigned long long)value[i]);
    fputc('\n', out);
}

/* ------------------------------------------------------------------------------------------------- the link */

struct counts {
    int64_t received_start, sent, again, bytes, dropped, lost, marked, samples;
    double cwnd_sum, rtt_sum;
    int64_t events, events_all; /* entries into the states CWR, Recovery and Loss */
    uint64_t last_state, last_cwnd, first_cwnd_before, first_ssthresh_after;
    ns_t opened, first_loss, first_event; /* first SYN, loss, entry; -1: none */
    uint32_t highest;
    bool seen;
};

static struct counts counts[MAX_FLOWS];
static struct fifo waiting, flying, returning;
static struct packet *serving;
static int tun_a, tun_b;
static ns_t queue_changed, busy;
static double queue_area;
static int queue_max;
static int64_t arrived, data_arrived, dropped_limit, dropped_random, dropped_chosen, marked, other_packets, flow0_data;
static ns_t *late;
static int64_t late_count, late_room;
static uint64_t random_state;

static double uniform(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u; /* SplitMix64, Steele et al. 2014 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static ns_t inside(ns_t t) { return t < args.warmup ? args.warmup : t > args.duration ? args.duration : t; }

static void queue_becomes(ns_t now)
{
    queue_area += (double)(inside(now) - inside(queue_changed)) * waiting.length;
    queue_changed = now;
}

static ns_t transmission(const struct packet *p) { return (ns_t)(p->length * 8 * 1e9 / args.rate + 0.5); }

static void serve(struct packet *p, ns_t now)
{
    serving = p;
    p->at = now + transmission(p);
}

/* Everything of the link that is due by `now`, each thing at its own time. */
static void advance(ns_t now)
{
    while (serving && serving->at <= now) {
        struct packet *p = serving;
        ns_t end = p->at;
        busy += inside(end) - inside(end - transmission(p));
        p->at = end + args.delay;
        if (args.spike && end >= args.spike_at && end < args.spike_at + SECOND / 5) p->at += args.spike;
        if (flying.tail && p->at < flying.tail->at) p->at = flying.tail->at; /* never out of order */
        push(&flying, p);
        serving = NULL;
        if (waiting.head) {
            queue_becomes(end);
            serve(pop(&waiting), end);
        }
    }
}

static void mark(struct packet *p)
{
    uint8_t *b = p->bytes;
    uint16_t old = get16(b);
    b[1] |= 3;
    uint32_t sum = (uint16_t)~get16(b + 10) + (uint32_t)(uint16_t)~old + get16(b); /* RFC 1624, equation 3 */
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    b[10] = (uint8_t)(~sum >> 8);
    b[11] = (uint8_t)~sum;
}

/* The receiver's window scale, from its SYN (RFC 7323); -1: not seen, or none. */
static int scale[MAX_FLOWS];

/* What a middlebox does that holds a connection back by its receive window: the window of an ACK becomes no larger than
 * `args.window`, rounded down to whole units of the receiver's scale. That of a SYN is not scaled and stays. */
static void rewrite(struct packet *p, const struct segment *s)
{
    uint8_t *t = p->bytes + (p->bytes[0] & 15) * 4;
    if (s->syn) {
        scale[s->flow] = -1;
        for (int i = 20; i + 2 < (t[12] >> 4) * 4 && t[i] != 0; i += t[i] == 1 ? 1 : t[i + 1] < 2 ? 2 : t[i + 1])
            if (t[i] == 3) scale[s->flow] = t[i + 2];
        return;
    }
    int told = scale[s->flow] < 0 ? 0 : args.window >> scale[s->flow];
    if (told < 1 || s->window <= told) return;
    t[14] = (uint8_t)(told >> 8);
    t[15] = (uint8_t)told;
    uint32_t sum = (uint16_t)~get16(t + 16) + (uint32_t)(uint16_t)~s->window + (uint32_t)told; /* RFC 1624, equation 3 */
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    t[16] = (uint8_t)(~sum >> 8);
    t[17] = (uint8_t)~sum;
}

static bool chosen(int64_t index)
{
    for (int i = 0; i < args.chosen_count; i++)
        if (args.chosen[i] == index) return true;
    return false;
}

static void arrive(struct packet *p, ns_t now)
{
    struct segment s = read_segment(p->bytes, p->length, true);
    enum fate fate = SENT;
    bool again = false, measured = now >= args.warmup && now < args.duration;
    struct counts *c = s.flow >= 0 ? &counts[s.flow] : NULL;
    if (!c) other_packets++;
    if (c && c->opened < 0) c->opened = now;
    if (c && s.syn) isn[0][s.flow] = s.seq;
    if (c && s.payload > 0) {
        uint32_t end = s.seq + (uint32_t)s.payload;
        again = c->seen && (int32_t)(s.seq - c->highest) < 0;
        if (!c->seen || (int32_t)(end - c->highest) > 0) c->highest = end;
        c->seen = true;
        c->sent += measured;
        c->again += measured && again;
        c->bytes += measured ? p->length : 0;
        data_arrived++;
        if (args.every && data_arrived % args.every == 0) fate = LOST_CHOSEN;
        if (s.flow == 0 && chosen(flow0_data++)) fate = LOST_CHOSEN;
        if (args.loss > 0 && uniform() < args.loss && fate == SENT) fate = LOST_RANDOM;
    }
    arrived += measured;
    if (fate == SENT && serving && waiting.length >= args.limit) fate = LOST_LIMIT;
    if (fate == SENT && args.mark_above && waiting.length >= args.mark_above && s.ecn != 0) {
        fate = MARKED;
        mark(p);
    }
    p->record = log_line(now, &s, fate, waiting.length, again);
    if (fate == SENT || fate == MARKED) {
        marked += measured && fate == MARKED;
        if (c) c->marked += measured && fate == MARKED;
        if (!serving) {
            serve(p, now);
            return;
        }
        queue_becomes(now);
        push(&waiting, p);
        if (measured && waiting.length > queue_max) queue_max = waiting.length;
        return;
    }
    dropped_limit += measured && fate == LOST_LIMIT;
    dropped_random += measured && fate == LOST_RANDOM;
    dropped_chosen += measured && fate == LOST_CHOSEN;
    if (c && fate == LOST_LIMIT) c->dropped += measured;
    if (c && fate != LOST_LIMIT) c->lost += measured;
    if (c && c->first_loss < 0) c->first_loss = now;
    push(&spare, p);
}

static void note_late(ns_t by)
{
    if (late_count == late_room) {
        late_room = late_room ? 2 * late_room : 1 << 17;
        late = realloc(late, (size_t)late_room * sizeof *late);
        if (!late) die(3, "out of memory");
    }
    late[late_count++] = by;
}

static FILE *trace;

/* The sender's state `v` after an ACK or at a sample. */
static void note_state(int flow, ns_t now, const uint64_t v[FIELD_COUNT])
{
    struct counts *c = &counts[flow];
    if (v[CA_STATE] >= 2 && c->last_state < 2) { /* CWR, Recovery or Loss */
        c->events_all++;
        c->events += now >= args.warmup;
        if (c->first_event < 0) {
            c->first_event = now;
            c->first_cwnd_before = c->last_cwnd;
            c->first_ssthresh_after = v[SSTHRESH];
        }
    }
    c->last_state = v[CA_STATE];
    c->last_cwnd = v[CWND];
}

/* The kernel handles a segment that is written to a TUN before the write returns. */
static ns_t deliver(struct fifo *line, int tun, ns_t now)
{
    while (line->head && line->head->at <= now) {
        struct packet *p = pop(line);
        if (write(tun, p->bytes, (size_t)p->length) < 0 && errno != EAGAIN) die(3, "a TUN device failed: %s", strerror(errno));
        ns_t done = clock_now() - shared->origin;
        note_late(done - p->at);
        if (p->record >= 0) lines[p->record].delivered = done;
        if (tun == tun_a) {
            struct segment s = read_segment(p->bytes, p->length, false);
            if (s.flow >= 0) {
                uint64_t v[FIELD_COUNT];
                read_info(s.flow, v);
                if (trace) write_info(trace, done, s.flow, v);
                note_state(s.flow, done, v);
            }
        }
        push(&spare, p);
    }
    return line->head ? line->head->at : INT64_MAX;
}

static int compare(const void *a, const void *b)
{
    ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;
    return (x > y) - (x < y);
}

/* The nonzero counters of this namespace's /proc/net/netstat that tell about recovery, and drops of the device. */
static void print_counters(const char *name)
{
    printf(",\"%s\":{", name);
    FILE *in = fopen("/proc/thread-self/net/netstat", "r");
    static char head[16384], body[16384];
    const char *separator = "";
    while (in && fgets(head, sizeof head, in) && fgets(body, sizeof body, in)) {
        char *save_head, *save_body;
        char *key = strtok_r(head, " \n", &save_head), *value = strtok_r(body, " \n", &save_body);
        while ((key = strtok_r(NULL, " \n", &save_head)) && (value = strtok_r(NULL, " \n", &save_body))) {
            if (!strcmp(value, "0")) continue;
            printf("%s\"%s\":%s", separator, key, value);
            separator = ",";
        }
    }
    if (in) fclose(in);
    putchar('}');
}

static long long device_drops(void)
{
    FILE *in = fopen("/proc/thread-self/net/dev", "r");
    char text[512];
    long long drops = -1, v[16];
    while (in && fgets(text, sizeof text, in)) {
        char *colon = strstr(text, "tun0:");
        if (!colon) continue;
        int n = 0;
        for (char *p = colon + 5; n < 16; n++) v[n] = strtoll(p, &p, 10);
        drops = v[11];
    }
    if (in) fclose(in);
    return drops;
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    for (int g = 0; g < args.group_count; g++)
        for (int i = 0; i < args.groups[g].flows; i++) group_of[args.groups[g].first + i] = &args.groups[g];
    random_state = args.seed;
    signal(SIGPIPE, SIG_IGN);
    alarm((unsigned)(args.duration / SECOND) + 20);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) die(3, "out of memory");

    uint64_t outside = inode_of("/proc/self/ns/net");
    become_able();
    int namespace_a, namespace_b;
    tun_a = make_end(A_ADDRESS, &namespace_a);
    if (inode_of("/proc/self/ns/net") == outside) die(3, "still in the machine's own network namespace");
    make_sockets();
    pid_t parent = getpid(), child[2];
    child[0] = fork();
    if (child[0] == 0) {
        child_begins(parent);
        run_senders();
    }
    tun_b = make_end(B_ADDRESS, &namespace_b);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(SERVER_PORT), .sin_addr = {htonl(B_ADDRESS)}};
    if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || listen(listener, 512) != 0)
        die(3, "cannot listen: %s", strerror(errno));
    child[1] = fork();
    if (child[1] == 0) {
        child_begins(parent);
        run_receivers(listener);
    }
    if (child[0] < 0 || child[1] < 0) die(3, "cannot fork: %s", strerror(errno));
    mlockall(MCL_CURRENT | MCL_FUTURE);
    bool fifo = realtime(20);
    FILE *samples = args.samples ? open_table(args.samples, "time_s,flow") : NULL;
    trace = args.trace ? open_table(args.trace, "time_s,flow") : NULL;
    for (int f = 0; f < args.flow_count; f++) counts[f].opened = counts[f].first_loss = counts[f].first_event = -1;
    while (!shared->ready) usleep(200);
    shared->origin = clock_now() + 5000000;

    ns_t now, sample_at = 0;
    bool warm = false;
    while ((now = clock_now() - shared->origin) < args.duration) {
        advance(now);
        if (!warm && now >= args.warmup) {
            for (int f = 0; f < args.flow_count; f++) counts[f].received_start = shared->received[f];
            warm = true;
        }
        ns_t next = args.duration;
        ns_t due = deliver(&flying, tun_b, now);
        if (due < next) next = due;
        due = deliver(&returning, tun_a, now);
        if (due < next) next = due;
        if (serving && serving->at + args.delay < next) next = serving->at + args.delay;
        if (now >= sample_at) {
            for (int f = 0; f < args.flow_count; f++) {
                if (start_of(f) > now) continue;
                uint64_t v[FIELD_COUNT];
                read_info(f, v);
                if (samples) write_info(samples, now, f, v);
                note_state(f, now, v);
                if (now < args.warmup) continue;
                counts[f].samples++;
                counts[f].cwnd_sum += (double)v[CWND];
                counts[f].rtt_sum += (double)v[RTT] * 1e-6;
            }
            while (sample_at <= now) sample_at += args.interval;
        }
        if (sample_at < next) next = sample_at;
        ns_t left = next - (clock_now() - shared->origin);
        if (left < 0) left = 0;
        struct pollfd fds[2] = {{.fd = tun_a, .events = POLLIN}, {.fd = tun_b, .events = POLLIN}};
        struct timespec wait = {.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
        if (ppoll(fds, 2, &wait, NULL) <= 0) continue;
        for (int side = 0; side < 2; side++) {
            for (int batch = 0; (fds[side].revents & POLLIN) && batch < 64; batch++) {
                struct packet *p = fresh();
                ssize_t got = read(fds[side].fd, p->bytes, PACKET_MAX);
                if (got <= 0) {
                    push(&spare, p);
                    break;
                }
                p->length = (int)got;
                ns_t at = clock_now() - shared->origin;
                if (side == 0) {
                    advance(at);
                    arrive(p, at);
                    continue;
                }
                struct segment s = read_segment(p->bytes, p->length, false);
                if (s.flow >= 0 && s.syn) isn[1][s.flow] = s.seq;
                if (s.flow >= 0 && args.window) {
                    rewrite(p, &s);
                    s = read_segment(p->bytes, p->length, false);
                }
                p->record = log_line(at, &s, SENT, 0, false);
                p->at = at + args.delay;
                push(&returning, p);
            }
        }
    }
    advance(args.duration);
    queue_becomes(args.duration);

    /* The record. */
    double span = seconds(args.duration - args.warmup);
    struct utsname system;
    uname(&system);
    printf("{\"simulator\":\"Linux %s\",\"seed\":%llu,\"groups\":{", system.release, (unsigned long long)args.seed);
    for (int g = 0; g < args.group_count; g++) {
        const struct group *group = &args.groups[g];
        double goodput = 0, throughput = 0;
        int64_t sent = 0, again = 0;
        for (int f = group->first; f < group->first + group->flows; f++) {
            goodput += (double)(shared->received[f] - counts[f].received_start) * 8 / span;
            throughput += (double)counts[f].bytes * 8 / span;
            sent += counts[f].sent;
            again += counts[f].again;
        }
        printf("%s\"%s\":{\"goodput_bps\":%.0f,\"offered_bps\":%.0f,\"sent_packets\":%lld,\"retransmits\":%lld,\"flows\":[", g ? "," : "",
               group->name, goodput, throughput, (long long)sent, (long long)again);
        for (int f = group->first; f < group->first + group->flows; f++) {
            uint64_t v[FIELD_COUNT];
            read_info(f, v);
            struct counts *c = &counts[f];
            printf("%s{\"goodput_bps\":%.0f,\"sent_packets\":%lld,\"retransmits\":%lld,\"dropped_packets\":%lld,"
                   "\"lost_packets\":%lld,\"marked_packets\":%lld,\"cwnd_mean\":%.3f,\"rtt_mean_s\":%.6f,"
                   "\"congestion_events\":%lld,\"congestion_events_all\":%lld,\"opened_s\":%.6f,\"first_loss_s\":%.6f,"
                   "\"first_event_s\":%.6f,\"first_cwnd_before\":%llu,\"first_ssthresh\":%llu",
                   f > group->first ? "," : "", (double)(shared->received[f] - c->received_start) * 8 / span,
                   (long long)c->sent, (long long)c->again, (long long)c->dropped, (long long)c->lost, (long long)c->marked,
                   c->samples ? c->cwnd_sum / (double)c->samples : 0, c->samples ? c->rtt_sum / (double)c->samples : 0,
                   (long long)c->events, (long long)c->events_all, seconds(c->opened), seconds(c->first_loss), seconds(c->first_event),
                   (unsigned long long)c->first_cwnd_before, (unsigned long long)c->first_ssthresh_after);
            printf(",\"final\":{");
            for (int i = 0; i < FIELD_COUNT; i++)
                printf("%s\"%s\":%llu", i ? "," : "", FIELDS[i].name, (unsigned long long)v[i]);
            printf("}}");
        }
        printf("]}");
    }
    qsort(late, (size_t)late_count, sizeof *late, compare);
    printf("},\"links\":{\"bottleneck\":{\"arrived_packets\":%lld,\"dropped_packets\":%lld,\"drops\":{\"limit\":%lld,"
           "\"loss\":%lld,\"chosen\":%lld},\"marked_packets\":%lld,\"queue_packets_mean\":%.4f,\"queue_packets_max\":%d,"
           "\"utilisation\":%.6f}}",
           (long long)arrived, (long long)(dropped_limit + dropped_random + dropped_chosen), (long long)dropped_limit,
           (long long)dropped_random, (long long)dropped_chosen, (long long)marked, queue_area / 1e9 / span, queue_max,
           seconds(busy) / span);
    long long drops_b = device_drops();
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_sec +
                 1e-6 * (double)used.ru_stime.tv_usec;
    print_counters("receiver_counters");
    if (setns(namespace_a, CLONE_NEWNET) != 0) die(3, "cannot return to the senders' namespace");
    print_counters("sender_counters");
    double scale = late_count ? 1e-9 : 0;
    printf(",\"emulator\":{\"realtime\":%s,\"released\":%lld,\"late_p50_s\":%.6f,\"late_p99_s\":%.6f,\"late_p999_s\":%.6f,"
           "\"late_max_s\":%.6f,\"device_drops\":%lld,\"other_packets\":%lld,\"cpu_s\":%.3f}}\n",
           fifo ? "true" : "false", (long long)late_count, late_count ? (double)late[late_count / 2] * scale : 0,
           late_count ? (double)late[late_count * 99 / 100] * scale : 0,
           late_count ? (double)late[late_count * 999 / 1000] * scale : 0,
           late_count ? (double)late[late_count - 1] * scale : 0, drops_b + device_drops(), (long long)other_packets, cpu);
    fflush(stdout);
    for (int i = 0; i < 2; i++) kill(child[i], SIGKILL), waitpid(child[i], NULL, 0);
    if (samples) fclose(samples);
    if (trace) fclose(trace);
    if (args.log) write_log();
    return 0;
}
