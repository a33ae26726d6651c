import CountersignEncoding
import Foundation
import Testing

@testable import CountersignCryptography

@Suite struct CertificateTests {
  /// Made once: a key takes a tenth of a second.
  private static let key = Result { try SigningKey.generateRSA(id: "k1") }
  /// 2026-07-01 12:00:00 UTC.
  private static let start: Int64 = 1_782_907_200
  private static let end: Int64 = start + 90 * 86_400

  private func certificate(_ key: SigningKey, name: String = "securetoken.example") throws(JOSEError) -> [UInt8] {
    try Certificate.selfSigned(key, commonName: name, notBefore: Self.start, notAfter: Self.end)
  }

  @Test func `A made key signs, and is read back`() throws {
    let key = try Self.key.get()
    #expect(key.algorithm == .rs256 && key.id == "k1")
    let signed = try JWS.sign(ascii(#"{"sub":"a"}"#), with: key, header: ["typ": "JWT"])
    let opened = try JWS.verify(signed, with: key.verifying)
    #expect(opened.payload == ascii(#"{"sub":"a"}"#))
    #expect(opened.header == ["alg": "RS256", "kid": "k1", "typ": "JWT"])
    let again = try SigningKey(file: key.pkcs8(), id: "k1")
    #expect(try JWS.sign(ascii(#"{"sub":"a"}"#), with: again, header: ["typ": "JWT"]) == signed)
    let other = try SigningKey.generateRSA(id: "k1")
    #expect(
      code { () throws(JOSEError) in try JWS.verify(signed, with: other.verifying) } == .authenticationFailed)
  }

  @Test func `Modulus and exponent are those of a JSON Web Key`() throws {
    let key = try Self.key.get()
    let (n, e) = try #require(key.verifying.rsaComponents)
    #expect(e == "AQAB" && Base64URL.decode(n)?.count == 256)
    let read = try VerifyingKey(jwk: ascii(#"{"kty":"RSA","kid":"k1","alg":"RS256","n":"\#(n)","e":"\#(e)"}"#))
    #expect(try JWS.verify(JWS.sign([1], with: key), with: read).payload == [1])
    #expect(try SigningKey(jwk: ascii(RFC7515.ecKey)).verifying.rsaComponents == nil)
  }

  @Test(arguments: [0, -1, 1024, 2047, 8193, Int.max])
  func `A size that is not taken is not made`(bits: Int) {
    #expect(code { () throws(JOSEError) in try SigningKey.generateRSA(bits: bits, id: "a") } == .badKey)
  }

  @Test func `OpenSSL's program reads a certificate and trusts its signature`() throws {
    let key = try Self.key.get()
    let pem = Certificate.pem(try certificate(key))
    let text = try OpenSSLProgram.run(
      ["x509", "-noout", "-text", "-nameopt", "oneline"], input: pem)
    for line in [
      "Version: 3 (0x2)", "Signature Algorithm: sha256WithRSAEncryption", "Issuer: CN = securetoken.example",
      "Subject: CN = securetoken.example", "Not Before: Jul  1 12:00:00 2026 GMT",
      "Not After : Sep 29 12:00:00 2026 GMT",
      "Public-Key: (2048 bit)", "CA:FALSE", "Digital Signature",
    ] { #expect(text.contains(line), "\(line) in \(text)") }
    #expect(pem.hasPrefix("-----BEGIN CERTIFICATE-----\n") && pem.hasSuffix("\n-----END CERTIFICATE-----\n"))
    #expect(pem.split(separator: "\n").allSatisfy { $0.count <= 64 })
    let publicKey = try OpenSSLProgram.run(["x509", "-noout", "-pubkey"], input: pem)
    let verifying = try VerifyingKey(file: ascii(publicKey))
    #expect(try JWS.verify(JWS.sign([1], with: key), with: verifying).payload == [1])
    let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let file = folder.appending(path: "a.pem").path
    try Data(pem.utf8).write(to: URL(filePath: file))
    let verified = try OpenSSLProgram.run(
      ["verify", "-check_ss_sig", "-attime", "\(Self.start + 60)", "-CAfile", file, file], input: "")
    #expect(verified.contains("OK"), "\(verified)")
  }

  @Test func `Two processes make the same certificate of a key`() throws {
    let key = try Self.key.get()
    let again = try SigningKey(file: key.pkcs8(), id: "k1")
    #expect(try certificate(key) == certificate(again))
    #expect(try certificate(key) != certificate(key, name: "other"))
  }

  @Test func `A certificate has its own key only`() throws {
    let key = try Self.key.get()
    let der = try certificate(key)
    #expect(Certificate.hasKey(der, key.verifying))
    #expect(try !Certificate.hasKey(der, SigningKey.generateRSA(id: "k1").verifying))
    #expect(!Certificate.hasKey(der + [0], key.verifying))
    var forged = der
    forged[forged.count - 1] ^= 1
    #expect(!Certificate.hasKey(forged, key.verifying))
    let ec = try SigningKey(jwk: ascii(RFC7515.ecKey))
    #expect(Certificate.hasKey(try certificate(ec), ec.verifying))
  }

  @Test func `Bytes of any kind are no certificate, and not fatal`() throws {
    let key = try Self.key.get()
    let der = try certificate(key)
    #expect(!Certificate.hasKey([], key.verifying))
    for count in 1..<der.count where count.isMultiple(of: 7) {
      #expect(!Certificate.hasKey(Array(der.prefix(count)), key.verifying))
      #expect(!Certificate.hasKey(SecureRandom.bytes(count), key.verifying))
    }
  }

  @Test func `Names and times that a certificate cannot have are refused`() throws {
    let key = try Self.key.get()
    for name in ["", String(repeating: "a", count: 65), "a\u{0}b", "a\nb", "é"] {
      #expect(code { () throws(JOSEError) in try certificate(key, name: name) } == .malformed, "\(name)")
    }
    #expect(code { () throws(JOSEError) in try certificate(key, name: String(repeating: "a", count: 64)) } == nil)
    for (start, end) in [(1, 1), (2, 1), (-1, 1), (0, 253_402_300_800), (Int64.min, Int64.max)] as [(Int64, Int64)] {
      #expect(
        code { () throws(JOSEError) in
          try Certificate.selfSigned(key, commonName: "a", notBefore: start, notAfter: end)
        } == .malformed)
    }
  }

  @Test func `The private key is not printed`() throws {
    let key = try Self.key.get()
    #expect("\(key)" == "SigningKey(k1, RS256, <redacted>)")
  }
}

private enum OpenSSLProgram {
  struct Failed: Error {
    let status: Int32
  }

  static func run(_ arguments: [String], input: String) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    let (standardInput, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (standardInput, output)
    process.standardError = FileHandle.nullDevice
    try process.run()
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try standardInput.fileHandleForWriting.close()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(status: process.terminationStatus) }
    return text
  }
}
