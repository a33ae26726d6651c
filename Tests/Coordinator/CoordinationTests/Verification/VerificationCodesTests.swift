import CountersignCryptography
import Testing

@testable import Coordination

@Suite struct VerificationCodesTests {
  private func keeper(length: Int = 6, pepper: UInt8 = 1) throws -> VerificationCodes {
    VerificationCodes(current: try Pepper([UInt8](repeating: pepper, count: 32)), length: length)
  }

  @Test func `The same seed gives the same code, and only for its verification and its pepper`() throws {
    let keeper = try keeper()
    let seed = [UInt8](repeating: 7, count: 32)
    let (code, atRest) = keeper.makeCode(for: "a", seed: seed)
    #expect(keeper.makeCode(for: "a", seed: seed).code == code)
    #expect(keeper.code(of: atRest, for: "a") == code)
    #expect(keeper.code(of: atRest, for: "b") == nil)
    #expect(try self.keeper(pepper: 2).code(of: atRest, for: "a") == nil)
    #expect(keeper.matches(code, atRest, for: "a"))
    #expect(!keeper.matches(code, atRest, for: "b"))
    #expect(!keeper.matches(code + "0", atRest, for: "a"))
    #expect(!keeper.matches("", atRest, for: "a"))
  }

  @Test(arguments: [4, 6, 8, 10])
  func `Codes have their length, zeros in front included`(length: Int) throws {
    let keeper = try keeper(length: length)
    for index in 0..<200 {
      let code = keeper.makeCode(for: "\(index)", seed: SecureRandom.bytes(32)).code
      #expect(code.utf8.count == length)
      #expect(code.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
    }
  }

  @Test func `Every digit is as likely as any other in every place`() throws {
    let keeper = try keeper(length: 4)
    var counts = [[Int]](repeating: [Int](repeating: 0, count: 10), count: 4)
    for index in 0..<10_000 {
      let seed = [UInt8(index & 255), UInt8(index >> 8)] + [UInt8](repeating: 0, count: 30)
      for (place, digit) in keeper.makeCode(for: "id", seed: seed).code.utf8.enumerated() {
        counts[place][Int(digit - UInt8(ascii: "0"))] += 1
      }
    }
    // 1,000 expected, standard deviation 30: the seeds are fixed, so this is no game of chance.
    #expect(counts.joined().allSatisfy { abs($0 - 1000) < 130 })
  }

  @Test func `Stored verifications survive closing the database`() throws {
    let keeper = try keeper()
    let random = keeper.makeCode(for: "a", seed: SecureRandom.bytes(32)).atRest
    #expect(CodeAtRest(blob: random.blob) == random)
    let fixed = keeper.keep(fixedCode: "123456", for: "a")
    #expect(CodeAtRest(blob: fixed.blob) == fixed)
    #expect(keeper.matches("123456", fixed, for: "a"))
    #expect(keeper.code(of: fixed, for: "a") == nil)
    #expect(CodeAtRest(blob: []) == nil)
    #expect(CodeAtRest(blob: random.blob + [0]) == nil)
  }

  @Test func `A pepper that is too short is refused, and none prints`() throws {
    #expect(throws: CoordinationError.self) { try Pepper([UInt8](repeating: 1, count: 15)) }
    #expect("\(try Pepper([UInt8](repeating: 65, count: 16)))" == "Pepper(<redacted>)")
  }
}
