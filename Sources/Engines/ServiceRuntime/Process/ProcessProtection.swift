#if canImport(Glibc)
  import CAllocator
#endif

/// Restricts what the kernel shows others of a process that holds keys.
enum ProcessProtection {
  /// Descriptors that a process may need: connections of clients and providers, databases. The hard limit still
  /// applies.
  private static let descriptors: UInt = 65_536

  /// Excludes memory from core files and from debuggers of the same user, and raises the limit of descriptors, which
  /// systems keep at 1,024 for programs that use `select(2)`. Call once, before secrets are read; a failed setting
  /// stays as it was.
  static func apply() {
    #if canImport(Glibc)
      csa_keep_memory_private()
      csa_raise_descriptors(descriptors)
    #endif
  }
}
