/* The one program of images that have nothing else: no shell, no libraries, no list of users. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void hear(int signal_number) { told = signal_number; }

/* Whether `line` is in a file at `path` now. */
static int leave(const char *path, const char *line) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int written = file >= 0 && write(file, line, strlen(line)) == (ssize_t)strlen(line);
    if (file >= 0) close(file);
    return written;
}

int main(int count, char **arguments) {
    char folder[512] = "", host[128] = "", line[256];
    getcwd(folder, sizeof folder);
    gethostname(host, sizeof host);
    printf("arguments");
    for (int i = 1; i < count; i++) printf(" %s", arguments[i]);
    printf("; user %d:%d; folder %s; host %s\n", getuid(), getgid(), folder, host);
    if (count > 1 && !strcmp(arguments[1], "health")) return leave("/out/health", "asked\n") ? 0 : 1;
    if (count > 1 && !strcmp(arguments[1], "fill")) { /* as much at arguments[2] as goes in, in MiB */
        static char block[1 << 20];
        int file = open(arguments[2], O_WRONLY | O_CREAT, 0644), blocks = 0;
        while (blocks < 512 && write(file, block, sizeof block) == sizeof block && fsync(file) == 0) blocks++;
        printf("filled %d\n", blocks);
        return 0;
    }
    signal(SIGTERM, hear);
    signal(SIGUSR1, hear);
    if (!leave("/out/said", "began\n")) printf("/out cannot be written\n");
    fflush(stdout);
    while (!told) pause();
    snprintf(line, sizeof line, "told %d\n", (int)told);
    leave("/out/said", line);
    return 0;
}
