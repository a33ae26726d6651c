import CommandEngine
import CountersignTelemetry

/// Limits of guesses at the password of a mail address, whether an account has it or not.
///
/// A network has few wrong ones, for the mail address and in all. Those of all networks together only slow down, so that
/// strangers who guess lock no one out: beyond a figure each wrong one costs a pause that doubles. A network that gave
/// the right password within 30 days neither causes pauses nor waits for them.
struct WrongPasswords: Sendable {
  static let longestPause = Duration.seconds(30)
  private static let knownFor = Duration.seconds(30 * 86_400)

  private let bench: LimitBench
  private let before: Int
  private let hour: SlotCounter
  private let last: SlotCounter
  /// `nil` without an address of the client.
  private let known: SlotCounter?

  init(of subject: LimitSubject, _ figures: Limits, _ hashes: AccountHashes) {
    let limit = Limit.slowingPasswords
    bench = LimitBench(
      [.wrongPasswordsPerNetworkAndMailAddress, .wrongPasswordsPerNetwork], of: subject, figures, hashes)
    before = figures[limit]
    hour = .hour(limit, of: subject, hashes)
    last = SlotCounter(
      hashes.hash("last wrong passwords", subject.parts(limit.parts)), slot: .seconds(1), window: Self.longestPause)
    known = subject.address.map { _ in
      SlotCounter(
        hashes.hash("networks of right passwords", subject.parts([.network, .mailAddress])), slot: .seconds(86_400),
        window: Self.knownFor)
    }
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try bench.addKeys(to: &keys, at: now)
    try hour.addKeys(to: &keys, at: now)
    try last.addKeys(to: &keys, at: now)
    try known?.addKeys(to: &keys, at: now)
  }

  /// The reason for which no password is compared now, not even the right one.
  func refusal(in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    if let refusal = try bench.refusal(in: set) { return refusal }
    guard try !isKnown(in: set), let pause = try pause(in: set), let end = try last.end(in: set) else { return nil }
    let wait = end + pause - set.now
    return wait > .zero ? LimitRefusal(limit: .slowingPasswords, wait: wait) : nil
  }

  func countWrong(in set: inout WorkingSet) throws(StoreError) {
    try bench.count(in: &set)
    guard try !isKnown(in: set) else { return }
    try hour.count(in: &set)
    try last.count(in: &set)
  }

  /// Writes once a day for a network.
  func countRight(in set: inout WorkingSet) throws(StoreError) {
    guard let known, try known.count(of: 0, in: set) == 0 else { return }
    try known.count(in: &set)
  }

  private func isKnown(in set: WorkingSet) throws(StoreError) -> Bool {
    guard let known else { return false }
    return try known.end(in: set) != nil
  }

  private func pause(in set: WorkingSet) throws(StoreError) -> Duration? {
    let beyond = try hour.count(in: set) - Int64(before)
    guard beyond >= 0 else { return nil }
    return beyond < 5 ? .seconds(1 << beyond) : Self.longestPause
  }
}
