/* A libnvidia-ml.so.1 for hosts without a card: it answers from the file that NVML_STUB names, read at every call, so
 * that a test can change a card while it is watched. One line a card: model|memory|uuid|state, where state is "ok" or
 * "lost". The real pynvml runs on top of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct stub_device { unsigned index; } *nvmlDevice_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6, GPU_IS_LOST = 15 };
static struct stub_device devices[16];
static struct { char model[96], uuid[96], state[16]; unsigned long long memory; } card;

static int cards(unsigned wanted) {
    FILE *file = fopen(getenv("NVML_STUB") ? getenv("NVML_STUB") : "", "r");
    char line[512];
    unsigned count = 0;
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%95[^|]|%llu|%95[^|]|%15[^\n]", card.model, &card.memory, card.uuid, card.state) == 4
            && count++ == wanted) break;
    }
    fclose(file);
    return (int)count;
}

static nvmlReturn_t look(nvmlDevice_t device) {
    if (!device || cards(device->index) <= (int)device->index) return INVALID_ARGUMENT;
    return strcmp(card.state, "lost") ? OK : GPU_IS_LOST;
}

static nvmlReturn_t text(char *out, unsigned length, const char *value) {
    snprintf(out, length, "%s", value);
    return OK;
}

nvmlReturn_t nvmlInit_v2(void) { return OK; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { (void)flags; return OK; }
nvmlReturn_t nvmlShutdown(void) { return OK; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned length) { return text(out, length, "570.00"); }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
    *count = (unsigned)cards(999);
    return OK;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out) {
    if (cards(index) <= (int)index) return NOT_FOUND;
    devices[index].index = index;
    *out = &devices[index];
    return strcmp(card.state, "lost") ? OK : GPU_IS_LOST;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *out, unsigned length) {
    nvmlReturn_t found = look(device);
    return found == OK ? text(out, length, card.model) : found;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned length) {
    nvmlReturn_t found = look(device);
    return found == OK ? text(out, length, card.uuid) : found;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    nvmlReturn_t found = look(device);
    if (found == OK) *memory = (nvmlMemory_t){card.memory, card.memory, 0};
    return found;
}
