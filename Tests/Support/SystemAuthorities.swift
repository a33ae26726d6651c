import Glibc

/// Makes the system's directory of authorities another one, for this thread alone.
///
/// - Returns: whether it is so now; only root can do it.
package func trustOnThisThread(_ directory: String) -> Bool {
  typealias Mount =
    @convention(c) (
      UnsafePointer<CChar>?, UnsafePointer<CChar>, UnsafePointer<CChar>?, UInt, UnsafeRawPointer?
    ) -> Int32
  typealias Unshare = @convention(c) (Int32) -> Int32
  // Neither these nor their flags are in Swift's module of the C library: CLONE_NEWNS, MS_REC and MS_PRIVATE, MS_BIND.
  let unshare = unsafeBitCast(dlsym(nil, "unshare"), to: Unshare.self)
  let mount = unsafeBitCast(dlsym(nil, "mount"), to: Mount.self)
  return unshare(0x20000) == 0 && mount("none", "/", nil, 0x4000 | 0x40000, nil) == 0
    && mount(directory, "/etc/ssl/certs", nil, 0x1000, nil) == 0
}
