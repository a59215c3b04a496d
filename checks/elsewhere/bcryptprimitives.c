/* The one function of this library that Rust's own calls. */
#include <windows.h>
#include <ntsecapi.h>

BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes) {
    return RtlGenRandom(data, (ULONG)bytes);
}
