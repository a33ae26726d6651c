#if canImport(Glibc)
  import CAllocator
#endif

/// Sets what the kernel lets others see of a process that holds keys.
enum ProcessProtection {
  /// Descriptors that a process may want: connections of clients and providers, databases. The hard limit still counts.
  private static let descriptors: UInt = 65_536

  /// Keeps memory out of core files and from debuggers of the same user, and raises the limit of descriptors, which systems keep at
  /// 1,024 for programs that use `select(2)`. Once, before secrets are read; what cannot be set stays as it was.
  static func apply() {
    #if canImport(Glibc)
      csa_keep_memory_private()
      csa_raise_descriptors(descriptors)
    #endif
  }
}
