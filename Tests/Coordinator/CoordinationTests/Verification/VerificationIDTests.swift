import CountersignEncoding
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct VerificationIDTests {
  private let now = UnixTime(milliseconds: 1_782_907_200_250)

  @Test func `Holds time and all random bits`() throws {
    let random = (1...16).map { UInt8($0) }
    let bytes = try #require(Base64URL.decode(VerificationID.text(at: now, random)))
    #expect(bytes.prefix(6).reduce(0) { $0 << 8 | Int64($1) } == now.milliseconds)
    #expect(Array(bytes.dropFirst(6)) == random)
  }

  @Test func `Those of one moment differ`() {
    let ids = Set((0..<1000).map { _ in VerificationID.make(at: now) })
    #expect(ids.count == 1000)
    #expect(ids.allSatisfy { $0.utf8.count == 30 && $0.utf8.count <= VerificationID.maxLength })
  }
}
