internal import CountersignCOpenSSL

/// Whether two secrets are the same, in a time that tells nothing about where they differ. Their lengths are no secret.
public func constantTimeEquals(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  guard a.count == b.count else { return false }
  return CRYPTO_memcmp(a, b, a.count) == 0
}
