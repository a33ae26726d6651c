internal import CountersignCOpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// The length of a hash in bytes.
  public static let length = 32

  /// - Returns: 32 bytes.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    guard let algorithm = OpenSSL.sha256 else { preconditionFailure("\(OpenSSL.missing)") }
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
      let code = EVP_Digest(message, message.count, buffer.baseAddress, nil, algorithm.pointer, nil)
      precondition(code == 1, "OpenSSL has no memory for a hash")
      filled = length
    }
  }
}
