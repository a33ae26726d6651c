import CountersignCryptography
import Testing

@Suite struct SecureRandomTests {
  @Test(arguments: [0, 1, 12, 32, 257, 100_000])
  func `Random bytes have the length asked for`(count: Int) {
    #expect(SecureRandom.bytes(count).count == count)
  }

  @Test func `Two draws differ`() {
    #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
    // A long piece that was not filled would show as zeros.
    let zeros = SecureRandom.bytes(100_000).count { $0 == 0 }
    #expect(zeros < 1000)
  }

  @Test(arguments: [1, 2, 10, 1_000_000, UInt32.max])
  func `Bounded numbers stay below the bound`(bound: UInt32) {
    for _ in 0..<1000 { #expect(SecureRandom.uniform(below: bound) < bound) }
  }

  /// 60,000 draws of a die: each side 10,000 times but for about 100. Ten times that would be no accident.
  @Test func `Bounded numbers are evenly spread`() {
    var sides = [Int](repeating: 0, count: 6)
    for _ in 0..<60_000 { sides[Int(SecureRandom.uniform(below: 6))] += 1 }
    for side in sides { #expect(abs(side - 10_000) < 1000) }
  }
}
