/* A libnvidia-ml.so.1 for machines without a card, beneath the real pynvml. It keeps nothing: every call reads the file
 * that LEASEHOLD_NVML names, so that a test changes a card while it is watched. standin.py writes that file; each line is
 * `key value`, and what no line says is "not supported", as on a card that lacks it. Units are NVML's own.
 *
 *   init CODE, init.hang 1         what nvmlInit answers (18: driver and library differ; 9: no driver is loaded), or not
 *   driver TEXT, nvml TEXT, cuda N 13040 is 13.4
 *   cards N, cards.error CODE      how many, or what the question answers; below, I is a card from 0 and K a MIG device of it
 *   I.error CODE                   what every call about the card answers (15: it has fallen off the bus)
 *   I.error.KEY CODE               what the call that reads that key answers
 *   I.hang 1                       calls about the card do not return until this is gone
 *   I.name I.uuid I.serial I.pci I.pci_device   I.pci is 00000000:17:00.0
 *   I.memory I.memory_used I.memory_reserved    bytes
 *   I.pcie I.pcie_max I.pcie_width I.pcie_width_max I.pcie_replays I.pcie_tx I.pcie_rx
 *   I.numa N                       the host's node; I.switch TEXT: the PCIe switch that it is behind
 *   I.nvlinks N, I.nvlink.L        how many links it has; where link L leads: a card's PCI id, or a switch's; absent: it is down
 *   I.ecc I.ecc_pending            1 or 0; I.ecc.corrected.volatile and the other three of these, counts
 *   I.remapped "CORRECTED UNCORRECTED PENDING FAILED"
 *   I.power I.power_limit I.power_default I.power_min I.power_max (milliwatts), I.energy (millijoules)
 *   I.temperature, I.threshold.N   °C
 *   I.clock.T I.clock_max.T        MHz, T being graphics, sm, mem, video
 *   I.throttle N                   a mask of reasons
 *   I.gpu_use I.memory_use         per cent
 *   I.fan I.pstate I.compute_mode I.persistence
 *   I.capability "MAJOR MINOR"
 *   I.process.N "PID BYTES [GPU_INSTANCE COMPUTE_INSTANCE]"; I.graphics.N and I.mps.N alike
 *   I.mig I.mig_pending            1 or 0; I.mig_most N: MIG devices at most
 *   I.mig_profile.P "ID SLICES INSTANCES SMS COPY_ENGINES MIB NAME"
 *   I.mig.K.uuid .name .memory .memory_used
 *   I.mig.K.ids "GPU_INSTANCE COMPUTE_INSTANCE", I.mig.K.shape "SMS GPU_SLICES COMPUTE_SLICES MIB"
 *   event.N "I TYPE DATA"          the events since the file began, from 0
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int nvmlReturn_t;
typedef unsigned long long u64;
typedef const struct unit { int card, mig; } *nvmlDevice_t; /* mig is -1 for the card itself */
typedef struct events { u64 types[16]; int next; } *nvmlEventSet_t;
typedef struct { u64 total, free, used; } nvmlMemory_t;
typedef struct { unsigned version; u64 total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char name[32]; } nvmlPciInfo_t;
typedef struct { unsigned gpu, memory; } nvmlUtilization_t;
typedef struct { unsigned pid; u64 memory; unsigned gpu_instance, compute_instance; } nvmlProcessInfo_t;
typedef struct { nvmlDevice_t device; u64 type, data; unsigned gpu_instance, compute_instance; } nvmlEventData_t;
typedef struct { unsigned sms, copy, decode, encode, jpeg, ofa, gpu_slices, compute_slices; u64 mib; } nvmlAttributes_t;
typedef struct { unsigned id, p2p, slices, instances, sms, copy, decode, encode, jpeg, ofa; u64 mib; } nvmlProfile_t;
typedef struct { unsigned version, id, p2p, slices, instances, sms, copy, decode, encode, jpeg, ofa; u64 mib; char name[96]; } nvmlProfile_v2_t;

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, TIMEOUT = 10,
       LIBRARY_NOT_FOUND = 12 };
enum { CARDS = 16, MIGS = 8, TEXT = 256, PAUSE_US = 2000 };
static const char *const CLOCKS[] = {"graphics", "sm", "mem", "video"};
static struct unit units[CARDS][MIGS + 1];
static atomic_int users;

__attribute__((constructor)) static void number_units(void) {
    for (int card = 0; card < CARDS; card++)
        for (int mig = -1; mig < MIGS; mig++) units[card][mig + 1] = (struct unit){card, mig};
}

/* ---- the file */

static int find(char *out, const char *form, ...) {
    char key[TEXT], line[2 * TEXT];
    va_list rest;
    va_start(rest, form);
    vsnprintf(key, sizeof key, form, rest);
    va_end(rest);
    FILE *file = fopen(getenv("LEASEHOLD_NVML") ? getenv("LEASEHOLD_NVML") : "", "re");
    size_t length = strlen(key);
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if ((found = !strncmp(line, key, length) && line[length] == ' ')) snprintf(out, TEXT, "%s", line + length + 1);
    }
    if (file) fclose(file);
    return found;
}

static u64 number(u64 otherwise, const char *form, int card) {
    char value[TEXT];
    return find(value, form, card) ? strtoull(value, NULL, 0) : otherwise;
}

/* Whether a call about this unit, which would read `key`, is answered at all. */
static nvmlReturn_t look(nvmlDevice_t unit, const char *key) {
    char value[TEXT];
    if (!users) return UNINITIALIZED;
    if (!unit || unit->card >= (int)number(0, "cards", 0)) return INVALID_ARGUMENT;
    while (find(value, "%d.hang", unit->card)) usleep(PAUSE_US);
    if (find(value, "%d.error", unit->card) || find(value, "%d.error.%s", unit->card, key)) return atoi(value);
    if (unit->mig >= 0 && !find(value, "%d.mig.%d.uuid", unit->card, unit->mig)) return NOT_FOUND;
    return OK;
}

static nvmlReturn_t text(nvmlDevice_t unit, const char *key, char *out) {
    nvmlReturn_t answer = look(unit, key);
    if (answer != OK) return answer;
    int found = unit->mig < 0 ? find(out, "%d.%s", unit->card, key) : find(out, "%d.mig.%d.%s", unit->card, unit->mig, key);
    return found ? OK : NOT_SUPPORTED;
}

static nvmlReturn_t copied(nvmlDevice_t unit, const char *key, char *out, unsigned length) {
    char value[TEXT];
    nvmlReturn_t answer = text(unit, key, value);
    if (answer != OK) return answer;
    return snprintf(out, length, "%s", value) < (int)length ? OK : INSUFFICIENT_SIZE;
}

static nvmlReturn_t wide(nvmlDevice_t unit, const char *key, u64 *out) {
    char value[TEXT];
    nvmlReturn_t answer = text(unit, key, value);
    if (answer == OK) *out = strtoull(value, NULL, 0);
    return answer;
}

static nvmlReturn_t narrow(nvmlDevice_t unit, const char *key, unsigned *out) {
    u64 value;
    nvmlReturn_t answer = wide(unit, key, &value);
    if (answer == OK) *out = (unsigned)value;
    return answer;
}

/* ---- the library and the driver */

nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
    char value[TEXT];
    (void)flags;
    while (find(value, "init.hang")) usleep(PAUSE_US);
    if (!getenv("LEASEHOLD_NVML")) return LIBRARY_NOT_FOUND; /* loaded by a test that is over */
    if (find(value, "init") && atoi(value)) return atoi(value);
    users++;
    return OK;
}
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    users--;
    return OK;
}
const char *nvmlErrorString(nvmlReturn_t code) { return code ? "an error" : "no error"; }

static nvmlReturn_t of_system(const char *key, char *out, unsigned length) {
    char value[TEXT];
    if (!users) return UNINITIALIZED;
    if (!find(value, "%s", key)) return NOT_SUPPORTED;
    return snprintf(out, length, "%s", value) < (int)length ? OK : INSUFFICIENT_SIZE;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned length) { return of_system("driver", out, length); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned length) { return of_system("nvml", out, length); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out) {
    char value[TEXT];
    nvmlReturn_t answer = of_system("cuda", value, sizeof value);
    if (answer == OK) *out = atoi(value);
    return answer;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }

/* ---- which card */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
    char value[TEXT];
    if (!users) return UNINITIALIZED;
    if (find(value, "cards.error")) return atoi(value);
    *count = (unsigned)number(0, "cards", 0);
    return OK;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out) {
    if (index >= CARDS) return INVALID_ARGUMENT;
    *out = &units[index][0];
    return look(*out, "handle");
}
static nvmlReturn_t by(const char *key, const char *wanted, nvmlDevice_t *out) {
    char value[TEXT];
    for (int card = 0; card < (int)number(0, "cards", 0); card++)
        for (int mig = -1; mig < (strcmp(key, "uuid") ? 0 : MIGS); mig++) {
            *out = &units[card][mig + 1];
            int found = mig < 0 ? find(value, "%d.%s", card, key) : find(value, "%d.mig.%d.uuid", card, mig);
            if (found && !strcasecmp(value, wanted)) return look(*out, "handle");
        }
    return NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out) { return by("uuid", uuid, out); }
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvmlDevice_t *out) {
    char whole[TEXT];
    snprintf(whole, sizeof whole, "%s%s", strchr(pci, ':') == pci + 4 ? "0000" : "", pci); /* sysfs writes four digits */
    return by("pci", whole, out);
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t unit, unsigned *out) {
    nvmlReturn_t answer = look(unit, "index");
    if (answer == OK) *out = (unsigned)(unit->mig < 0 ? unit->card : unit->mig);
    return answer;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t unit, unsigned *out) { return nvmlDeviceGetIndex(unit, out); }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t unit, char *out, unsigned length) { return copied(unit, "name", out, length); }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t unit, char *out, unsigned length) { return copied(unit, "uuid", out, length); }
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t unit, char *out, unsigned length) { return copied(unit, "serial", out, length); }
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t unit, int *major, int *minor) {
    char value[TEXT];
    nvmlReturn_t answer = text(unit, "capability", value);
    if (answer == OK) sscanf(value, "%d %d", major, minor);
    return answer;
}

/* ---- how it is attached */

static nvmlReturn_t place(nvmlDevice_t unit, const char *key, nvmlPciInfo_t *out) {
    char value[TEXT];
    nvmlReturn_t answer = text(unit, key, value);
    if (answer != OK) return answer;
    memset(out, 0, sizeof *out);
    sscanf(value, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->name, sizeof out->name, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", out->domain & 0xFFFF, out->bus & 0xFF, out->device & 0xFF);
    out->id = (unsigned)number(0x233010DE, "%d.pci_device", unit->card);
    return OK;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t unit, nvmlPciInfo_t *out) { return place(unit, "pci", out); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pcie", out); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pcie_max", out); }
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pcie_max", out); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pcie_width", out); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pcie_width_max", out); }
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pcie_replays", out); }
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t unit, unsigned counter, unsigned *out) {
    return narrow(unit, counter ? "pcie_rx" : "pcie_tx", out);
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t unit, unsigned length, u64 *out, unsigned scope) {
    unsigned node;
    nvmlReturn_t answer = narrow(unit, "numa", &node);
    (void)scope;
    if (answer != OK) return answer;
    if (node / 64 >= length) return INVALID_ARGUMENT;
    memset(out, 0, length * sizeof *out);
    out[node / 64] = 1ull << node % 64;
    return OK;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t unit, unsigned link, unsigned *up) {
    char value[TEXT];
    unsigned links;
    nvmlReturn_t answer = narrow(unit, "nvlinks", &links);
    if (answer != OK) return answer;
    if (link >= links) return INVALID_ARGUMENT;
    *up = (unsigned)find(value, "%d.nvlink.%d", unit->card, link);
    return OK;
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t unit, unsigned link, nvmlPciInfo_t *out) {
    char key[TEXT];
    snprintf(key, sizeof key, "nvlink.%u", link);
    return place(unit, key, out);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t unit, unsigned link, unsigned *type) {
    char key[TEXT], value[TEXT], other[TEXT];
    snprintf(key, sizeof key, "nvlink.%u", link);
    nvmlReturn_t answer = text(unit, key, value);
    *type = 2; /* a switch, unless it is one of the cards */
    for (int card = 0; answer == OK && card < (int)number(0, "cards", 0); card++)
        if (find(other, "%d.pci", card) && !strcmp(value, other)) *type = 0;
    return answer;
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, unsigned *level) {
    char one[TEXT], other[TEXT];
    nvmlReturn_t answer = look(a, "topology");
    if (answer == OK) answer = look(b, "topology");
    if (answer != OK) return answer;
    *level = number(0, "%d.numa", a->card) == number(0, "%d.numa", b->card) ? 40 : 50;
    if (find(one, "%d.switch", a->card) && find(other, "%d.switch", b->card) && !strcmp(one, other)) *level = 10;
    if (a->card == b->card) *level = 0;
    return OK;
}

/* ---- memory and its errors */

static nvmlReturn_t memory(nvmlDevice_t unit, nvmlMemory_v2_t *out) {
    u64 total, used = 0, reserved = 0;
    nvmlReturn_t answer = wide(unit, "memory", &total);
    if (answer != OK) return answer;
    wide(unit, "memory_used", &used);
    wide(unit, "memory_reserved", &reserved);
    *out = (nvmlMemory_v2_t){0x02000028, total, reserved, total - used - reserved, used};
    return OK;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t unit, nvmlMemory_v2_t *out) { return memory(unit, out); }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t unit, nvmlMemory_t *out) {
    nvmlMemory_v2_t found;
    nvmlReturn_t answer = memory(unit, &found);
    if (answer == OK) *out = (nvmlMemory_t){found.total, found.free, found.used + found.reserved};
    return answer;
}
static nvmlReturn_t modes(nvmlDevice_t unit, const char *key, const char *pending, unsigned *now, unsigned *then) {
    nvmlReturn_t answer = narrow(unit, key, now);
    if (answer == OK && narrow(unit, pending, then) != OK) *then = *now;
    return answer;
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t unit, unsigned *now, unsigned *pending) {
    return modes(unit, "ecc", "ecc_pending", now, pending);
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t unit, unsigned error, unsigned counter, u64 *out) {
    unsigned on = 0;
    char key[TEXT];
    nvmlReturn_t answer = narrow(unit, "ecc", &on);
    if (answer != OK || !on) return answer != OK ? answer : NOT_SUPPORTED;
    snprintf(key, sizeof key, "ecc.%s.%s", error ? "uncorrected" : "corrected", counter ? "aggregate" : "volatile");
    *out = 0;
    answer = wide(unit, key, out);
    return answer == NOT_SUPPORTED ? OK : answer;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t unit, unsigned *corrected, unsigned *not, unsigned *pending, unsigned *failed) {
    char value[TEXT];
    nvmlReturn_t answer = text(unit, "remapped", value);
    if (answer == OK) sscanf(value, "%u %u %u %u", corrected, not, pending, failed);
    return answer;
}

/* ---- power, heat, clocks, use */

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "power", out); }
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "power_limit", out); }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "power_limit", out); }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "power_default", out); }
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t unit, unsigned *least, unsigned *most) {
    nvmlReturn_t answer = narrow(unit, "power_min", least);
    return answer == OK ? narrow(unit, "power_max", most) : answer;
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t unit, u64 *out) { return wide(unit, "energy", out); }
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t unit, unsigned sensor, unsigned *out) {
    return sensor ? INVALID_ARGUMENT : narrow(unit, "temperature", out);
}
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t unit, unsigned *versioned) { return narrow(unit, "temperature", versioned + 2); }
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t unit, unsigned which, unsigned *out) {
    char key[TEXT];
    snprintf(key, sizeof key, "threshold.%u", which);
    return narrow(unit, key, out);
}
static nvmlReturn_t hertz(nvmlDevice_t unit, const char *key, unsigned which, unsigned *out) {
    char whole[TEXT];
    if (which >= sizeof CLOCKS / sizeof *CLOCKS) return INVALID_ARGUMENT;
    snprintf(whole, sizeof whole, "%s.%s", key, CLOCKS[which]);
    return narrow(unit, whole, out);
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t unit, unsigned which, unsigned *out) { return hertz(unit, "clock", which, out); }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t unit, unsigned which, unsigned *out) { return hertz(unit, "clock_max", which, out); }
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t unit, u64 *out) { return wide(unit, "throttle", out); }
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t unit, u64 *out) { return wide(unit, "throttle", out); }
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t unit, nvmlUtilization_t *out) {
    nvmlReturn_t answer = narrow(unit, "gpu_use", &out->gpu);
    return answer == OK ? narrow(unit, "memory_use", &out->memory) : answer;
}
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "fan", out); }
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "pstate", out); }
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "compute_mode", out); }
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t unit, unsigned *out) { return narrow(unit, "persistence", out); }

/* ---- processes */

static nvmlReturn_t processes(nvmlDevice_t unit, const char *key, unsigned *count, nvmlProcessInfo_t *out) {
    char value[TEXT];
    nvmlReturn_t answer = look(unit, key);
    unsigned room = *count, found = 0;
    if (answer != OK) return answer;
    for (unsigned line = 0; find(value, "%d.%s.%u", unit->card, key, line); line++) {
        nvmlProcessInfo_t process = {0, 0, ~0u, ~0u};
        char own[TEXT];
        sscanf(value, "%u %llu %u %u", &process.pid, &process.memory, &process.gpu_instance, &process.compute_instance);
        unsigned gpu = ~0u, compute = ~0u;
        if (unit->mig >= 0 && find(own, "%d.mig.%d.ids", unit->card, unit->mig)) sscanf(own, "%u %u", &gpu, &compute);
        if (unit->mig >= 0 && (process.gpu_instance != gpu || process.compute_instance != compute)) continue;
        if (found < room) out[found] = process;
        found++;
    }
    *count = found;
    return found <= room ? OK : INSUFFICIENT_SIZE;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t unit, unsigned *count, nvmlProcessInfo_t *out) {
    return processes(unit, "process", count, out);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t unit, unsigned *count, nvmlProcessInfo_t *out) {
    return processes(unit, "process", count, out);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t unit, unsigned *count, nvmlProcessInfo_t *out) {
    return processes(unit, "graphics", count, out);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t unit, unsigned *count, nvmlProcessInfo_t *out) {
    return processes(unit, "mps", count, out);
}

/* ---- MIG */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t unit, unsigned *now, unsigned *pending) {
    return modes(unit, "mig", "mig_pending", now, pending);
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t unit, unsigned *out) {
    nvmlReturn_t answer = narrow(unit, "mig_most", out);
    if (answer == NOT_SUPPORTED) *out = 0;
    return answer == NOT_SUPPORTED ? OK : answer;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t unit, unsigned index, nvmlDevice_t *out) {
    unsigned on;
    nvmlReturn_t answer = narrow(unit, "mig", &on);
    if (answer != OK) return answer;
    if (index >= MIGS) return INVALID_ARGUMENT;
    *out = &units[unit->card][index + 1];
    return on ? look(*out, "handle") : NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t unit, nvmlDevice_t *out) {
    nvmlReturn_t answer = look(unit, "handle");
    if (answer == OK) *out = &units[unit->card][0];
    return answer;
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t unit, unsigned *out) {
    *out = unit && unit->mig >= 0;
    return unit ? OK : INVALID_ARGUMENT;
}
static nvmlReturn_t id(nvmlDevice_t unit, int second, unsigned *out) {
    char value[TEXT];
    unsigned ids[2] = {0, 0};
    nvmlReturn_t answer = unit && unit->mig < 0 ? NOT_SUPPORTED : text(unit, "ids", value);
    if (answer != OK) return answer;
    sscanf(value, "%u %u", &ids[0], &ids[1]);
    *out = ids[second];
    return OK;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t unit, unsigned *out) { return id(unit, 0, out); }
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t unit, unsigned *out) { return id(unit, 1, out); }
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t unit, nvmlAttributes_t *out) {
    char value[TEXT];
    nvmlReturn_t answer = unit && unit->mig < 0 ? NOT_SUPPORTED : text(unit, "shape", value);
    if (answer != OK) return answer;
    memset(out, 0, sizeof *out);
    sscanf(value, "%u %u %u %llu", &out->sms, &out->gpu_slices, &out->compute_slices, &out->mib);
    return OK;
}
static nvmlReturn_t profile(nvmlDevice_t unit, unsigned which, nvmlProfile_v2_t *out) {
    char key[TEXT], value[TEXT];
    snprintf(key, sizeof key, "mig_profile.%u", which);
    nvmlReturn_t answer = text(unit, key, value);
    if (answer != OK) return answer;
    memset(out, 0, sizeof *out);
    out->version = 0x02000098;
    sscanf(value, "%u %u %u %u %u %llu %95[^\n]", &out->id, &out->slices, &out->instances, &out->sms, &out->copy, &out->mib, out->name);
    return OK;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t unit, unsigned which, nvmlProfile_v2_t *out) {
    return profile(unit, which, out);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t unit, unsigned which, nvmlProfile_t *out) {
    nvmlProfile_v2_t found;
    nvmlReturn_t answer = profile(unit, which, &found);
    if (answer == OK) *out = (nvmlProfile_t){found.id, 0, found.slices, found.instances, found.sms, found.copy, 0, 0, 0, 0, found.mib};
    return answer;
}

/* ---- events */

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *out) {
    char value[TEXT];
    if (!users) return UNINITIALIZED;
    *out = calloc(1, sizeof **out);
    while (find(value, "event.%d", (*out)->next)) (*out)->next++; /* what was before is nobody's any more */
    return OK;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    free(set);
    return OK;
}
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t unit, u64 *out) {
    nvmlReturn_t answer = look(unit, "events");
    if (answer == OK) *out = 0xFFFF;
    return answer;
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t unit, u64 types, nvmlEventSet_t set) {
    nvmlReturn_t answer = look(unit, "events");
    if (answer == OK) set->types[unit->card] |= types;
    return answer;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *out, unsigned milliseconds) {
    char value[TEXT];
    struct timespec now, begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        while (find(value, "event.%d", set->next)) {
            unsigned card;
            *out = (nvmlEventData_t){NULL, 0, 0, ~0u, ~0u};
            set->next++;
            if (sscanf(value, "%u %llu %llu", &card, &out->type, &out->data) != 3 || card >= CARDS) continue;
            out->device = &units[card][0];
            if (set->types[card] & out->type) return OK;
        }
        usleep(PAUSE_US);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < (long)milliseconds);
    return TIMEOUT;
}
