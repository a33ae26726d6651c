internal import CountersignCOpenSSL

/// The numbers of a key on their way into OpenSSL, which wants them at addresses that stay. They are erased at the end.
final class KeyParameters {
  private var parameters: [OSSL_PARAM] = []
  private var buffers: [UnsafeMutableRawBufferPointer] = []

  deinit {
    for buffer in buffers {
      OPENSSL_cleanse(buffer.baseAddress, buffer.count)
      buffer.deallocate()
    }
  }

  func add(_ name: String, text: String) {
    parameters.append(OSSL_PARAM_construct_utf8_string(keep(cString: name), keep(cString: text), 0))
  }

  func add(_ name: String, bytes: [UInt8]) {
    parameters.append(OSSL_PARAM_construct_octet_string(keep(cString: name), keep(bytes), bytes.count))
  }

  /// - Parameter number: most significant byte first; OpenSSL wants it in the order of this machine.
  func add(_ name: String, number: [UInt8]) {
    let isLittleEndian = UInt16(1).littleEndian == 1
    let value = keep(isLittleEndian ? number.reversed() : number)?.assumingMemoryBound(to: UInt8.self)
    parameters.append(OSSL_PARAM_construct_BN(keep(cString: name), value, number.count))
  }

  /// Makes the key.
  /// - Parameter name: of the key, for errors.
  func key(type: String, _ part: PKey.Part, name: String) throws(JOSEError) -> PKey {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { throw PKey.unavailable() }
    defer { EVP_PKEY_CTX_free(context) }
    parameters.append(OSSL_PARAM_construct_end())
    var pointer: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1,
      EVP_PKEY_fromdata(context, &pointer, part.selection, &parameters) == 1, let pointer
    else {
      OpenSSL.drainErrors()
      throw JOSEError(.badKey, "the numbers of \(name) do not belong together")
    }
    return PKey(pointer)
  }

  private func keep(_ bytes: [UInt8]) -> UnsafeMutableRawPointer? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    buffer.copyBytes(from: bytes)
    buffers.append(buffer)
    return buffer.baseAddress
  }

  private func keep(cString text: String) -> UnsafeMutablePointer<CChar>? {
    keep(Array(text.utf8) + [0])?.assumingMemoryBound(to: CChar.self)
  }
}
