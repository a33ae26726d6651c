/// Fixed codes of fictional numbers.
enum FictionalCode {
  /// Whether an attacker would try it early: a repeated digit or group of up to three, or digits that count up or down.
  static func isGuessable(_ code: String) -> Bool {
    let digits = code.utf8.map { Int($0) }
    guard digits.count > 1 else { return true }
    for period in 1...3 where digits.count > period {
      if digits.indices.dropFirst(period).allSatisfy({ digits[$0] == digits[$0 - period] }) { return true }
    }
    let steps = zip(digits.dropFirst(), digits).map { ($0 - $1 + 10) % 10 }
    return Set(steps).count == 1 && (steps[0] == 1 || steps[0] == 9)
  }
}
