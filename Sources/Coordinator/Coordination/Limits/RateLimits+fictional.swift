import CommandEngine
import CountersignMessages
import CountersignTelemetry

// Fictional numbers have fixed codes, so only wrong codes are limited: tests run them hundreds of times an hour. Each
// network has a few wrong codes for itself, all together have some more, and strangers who use those up must not lock a
// tester out: a network that has given the right code has its few beside the total.
extension RateLimits {
  /// Right codes of a network for a fictional number: it is known for so long.
  static let knownNetwork = LimitRule(sliding: "k", limit: .max, window: .seconds(30 * 86_400))
  /// Networks that gave the right code of a fictional number for the first time, within a day. Further ones are not
  /// remembered: the code of such a number is not a secret, and counters must not grow by it.
  static let newNetworks = LimitRule(daily: "kn", limit: 100)

  func refusal(ofFictional check: LimitedCheck, in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    refusal(try wrongCode(fictional: check, in: set), in: set)
  }

  func countWrong(fictional check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) {
    count(try wrongCode(fictional: check, in: set), in: &set)
  }

  func countRight(fictional check: LimitedCheck, in set: inout WorkingSet) throws(StoreError) {
    guard let known = try known(check) else { return }
    if try !isKnown(check, in: set) {
      let new = try new(check)
      guard new.window(in: set).wait(at: set.now, new.rule) == nil else { return }
      new.record(in: &set)
    }
    known.record(in: &set)
  }

  private func wrongCode(fictional check: LimitedCheck, in set: WorkingSet) throws(StoreError) -> [Check] {
    try isKnown(check, in: set) ? network(check) : network(check) + total(check)
  }

  private func isKnown(_ check: LimitedCheck, in set: WorkingSet) throws(StoreError) -> Bool {
    guard let known = try known(check) else { return false }
    return known.window(in: set).count(at: set.now, known.rule) > 0
  }

  private func network(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    guard let address = check.address else { return [] }
    let subject = subjects.fictional(check.number, of: check.app, from: address)
    return [try self.check(.wrongCodesPerNetworkOfFictionalNumberPerHour, subject)]
  }

  private func total(_ check: LimitedCheck) throws(StoreError) -> [Check] {
    [try self.check(.wrongCodesPerFictionalNumberPerHour, subjects.fictional(check.number, of: check.app))]
  }

  private func known(_ check: LimitedCheck) throws(StoreError) -> LimitCounter? {
    guard let address = check.address else { return nil }
    return try LimitCounter(subjects.fictional(check.number, of: check.app, from: address), Self.knownNetwork)
  }

  private func new(_ check: LimitedCheck) throws(StoreError) -> LimitCounter {
    try LimitCounter(subjects.fictional(check.number, of: check.app), Self.newNetworks)
  }
}
