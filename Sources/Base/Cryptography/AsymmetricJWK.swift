import CountersignCOpenSSL
import CountersignEncoding

/// A public key or a key pair as JSON (RFC 7517, section 4; RFC 7518, sections 6.2 and 6.3).
struct AsymmetricJWK: Decodable {
  var kty: String
  var kid: String?
  var use: String?
  var operations: [String]?
  var alg: String?
  var crv: String?
  var x, y, d, n, e, p, q, dp, dq, qi: String?

  private enum CodingKeys: String, CodingKey {
    case kty, kid, use, alg, crv, x, y, d, n, e, p, q, dp, dq, qi
    case operations = "key_ops"
  }

  var name: String { kid.map { "the key \"\(JOSEError.printable($0))\"" } ?? "the key" }

  init(json: [UInt8]) throws(JOSEError) {
    guard json.count <= SigningKey.maxFileBytes else {
      throw JOSEError(.badKey, "the key has more than \(SigningKey.maxFileBytes) bytes")
    }
    do {
      self = try JSONReader(maxBytes: SigningKey.maxFileBytes).decode(AsymmetricJWK.self, from: json)
    } catch {
      throw JOSEError(.badKey, "the key is not a JSON Web Key, or one of its members has another type")
    }
  }

  func key(_ part: PKey.Part) throws(JOSEError) -> PKey {
    if let problem = KeyPurpose.signatures.problem(use: use, operations: operations) { throw refuse(problem) }
    let key: PKey
    switch kty {
    case "EC": key = try ec(part)
    case "RSA": key = try rsa(part)
    default: throw refuse("has kty \"\(JOSEError.printable(kty))\" instead of \"EC\" or \"RSA\"")
    }
    let algorithm = try key.algorithm(name: name)
    guard alg == nil || alg == algorithm.rawValue else {
      throw refuse("has alg \"\(JOSEError.printable(alg ?? ""))\" instead of \"\(algorithm.rawValue)\"")
    }
    try key.check(part, name: name)
    return key
  }

  func ec(_ part: PKey.Part) throws(JOSEError) -> PKey {
    guard crv == "P-256" else { throw refuse("is not on the curve P-256") }
    let point = try number("x", x, count: ECNumbers.length) + number("y", y, count: ECNumbers.length)
    let parameters = KeyParameters()
    parameters.add("group", text: "P-256")
    parameters.add("pub", bytes: [Self.uncompressed] + point)
    if part == .private { parameters.add("priv", number: try number("d", d, count: ECNumbers.length)) }
    return try parameters.key(type: "EC", part, name: name)
  }

  private func rsa(_ part: PKey.Part) throws(JOSEError) -> PKey {
    let parameters = KeyParameters()
    var numbers = [("n", "n", n), ("e", "e", e)]
    if part == .private {
      numbers += [
        ("d", "d", d), ("p", "rsa-factor1", p), ("q", "rsa-factor2", q), ("dp", "rsa-exponent1", dp),
        ("dq", "rsa-exponent2", dq), ("qi", "rsa-coefficient1", qi),
      ]
    }
    for (member, parameter, value) in numbers { parameters.add(parameter, number: try number(member, value)) }
    return try parameters.key(type: "RSA", part, name: name)
  }

  /// Stands before a point that is given by both of its coordinates (SEC 1, section 2.3.3).
  private static let uncompressed: UInt8 = 0x04

  private func number(_ member: String, _ text: String?, count: Int? = nil) throws(JOSEError) -> [UInt8] {
    guard let bytes = text.flatMap(Base64URL.decode), !bytes.isEmpty else {
      throw refuse("has no \(member) in base64url")
    }
    guard count == nil || bytes.count == count else {
      throw refuse("has \(bytes.count) bytes in its \(member) instead of \(count ?? 0)")
    }
    guard bytes.count <= SignatureAlgorithm.maxRSABits / 8 else { throw refuse("has a \(member) that is too long") }
    return bytes
  }

  func refuse(_ reason: String) -> JOSEError {
    JOSEError(.badKey, "\(name) \(reason)", keyID: kid.map(JOSEError.printable))
  }
}

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

  func add(_ name: String, number: [UInt8]) {
    let isLittleEndian = UInt16(1).littleEndian == 1
    let value = keep(isLittleEndian ? number.reversed() : number)?.assumingMemoryBound(to: UInt8.self)
    parameters.append(OSSL_PARAM_construct_BN(keep(cString: name), value, number.count))
  }

  func key(type: String, _ part: PKey.Part, name: String) throws(JOSEError) -> PKey {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { throw PKey.unavailable() }
    defer { EVP_PKEY_CTX_free(context) }
    parameters.append(OSSL_PARAM_construct_end())
    var pointer: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1,
      EVP_PKEY_fromdata(context, &pointer, part.selection, &parameters) == 1, let pointer
    else {
      OpenSSL.drainErrors()
      throw JOSEError(.badKey, "the numbers of \(name) do not match")
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
