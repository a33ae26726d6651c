import CountersignTelemetry

extension PhoneVerification {
  static let firstHandle = 1

  var handleNumbers: ClosedRange<Int> { Self.firstHandle...(handles.later.count + 1) }

  var openHandles: [Int] { handleNumbers.filter(isOpen) }

  func isOpen(_ number: Int) -> Bool {
    state.isLive && ending(of: number) == nil
  }

  func handle(withID id: String) -> Int? {
    id == self.id ? Self.firstHandle : handles.later.firstIndex { $0.id == id }.map { $0 + 2 }
  }

  func openHandle(where isTheirs: ([UInt8]) -> Bool) -> Int? {
    handleNumbers.first { isOpen($0) && isTheirs(requester(of: $0)) }
  }

  /// The handle with which a requester continues: the open one, else the one that it canceled.
  func handleToGoOn(where isTheirs: ([UInt8]) -> Bool) -> Int? {
    openHandle(where: isTheirs)
      ?? handleNumbers.first { ending(of: $0) == .canceled && isTheirs(requester(of: $0)) }
  }

  func id(of number: Int) -> String { later(number)?.id ?? id }

  func requester(of number: Int) -> [UInt8] { later(number)?.requester ?? requester }

  func startedAt(of number: Int) -> UnixTime { later(number)?.createdAt ?? createdAt }

  func ending(of number: Int) -> HandleEnding? {
    number == Self.firstHandle ? handles.firstEnding : later(number)?.ending
  }

  func reopenings(of number: Int) -> Int {
    (number == Self.firstHandle ? handles.firstReopenings : later(number)?.reopenings) ?? 0
  }

  func asker(ofMessage number: Int) -> Int { handles.askers[number] ?? Self.firstHandle }

  /// The last handles are reserved for devices that have proven themselves.
  func hasRoom(forProven isProven: Bool) -> Bool {
    let kept = isProven ? 0 : VerificationPolicy.handlesForProven
    return handleNumbers.count < VerificationPolicy.maxHandles - kept
  }

  private func later(_ number: Int) -> VerificationHandle? {
    let index = number - 2
    return handles.later.indices.contains(index) ? handles.later[index] : nil
  }

  // MARK: Guesses

  func checks(of number: Int) -> Int { later(number)?.checks ?? checks }

  mutating func countCheck(through number: Int) {
    let index = number - 2
    if handles.later.indices.contains(index) {
      handles.later[index].checks += 1
    } else {
      checks += 1
    }
  }

  func ownChecksLeft(of number: Int, under policy: VerificationPolicy) -> Int {
    max(0, policy.checks(ofHandle: number) - checks(of: number))
  }

  /// A handle's remaining guesses. The first handle has its own; the others share theirs, of which the last are
  /// reserved for devices that have proven themselves.
  func checksLeft(of number: Int, under policy: VerificationPolicy) -> Int {
    let own = ownChecksLeft(of: number, under: policy)
    guard let handle = later(number) else { return own }
    return max(0, min(own, policy.laterChecks(forProven: handle.isProven) - handles.checks))
  }

  func canComeBack(through own: Int?, isProven: Bool, under policy: VerificationPolicy) -> Bool {
    if openHandles.contains(where: { checksLeft(of: $0, under: policy) > 0 }) { return true }
    if let own { return checksLeft(of: own, under: policy) > 0 }
    return hasRoom(forProven: isProven) && policy.laterChecks(forProven: isProven) > handles.checks
  }

  /// Whether a code may be compared after its use. The comparison reveals nothing, and costs as much as any other.
  func mayCompareUsed(through number: Int, under policy: VerificationPolicy) -> Bool {
    checks(of: number) < 2 * policy.checks(ofHandle: number)
  }

  /// The first handle has its own guesses without a proof.
  mutating func prove(_ number: Int) {
    let index = number - 2
    if handles.later.indices.contains(index) { handles.later[index].isProven = true }
  }

  // MARK: Ends

  mutating func reopen(_ number: Int) {
    let index = number - 2
    if handles.later.indices.contains(index) {
      handles.later[index].ending = nil
      handles.later[index].reopenings = reopenings(of: number) + 1
    } else {
      handles.firstEnding = nil
      handles.firstReopenings = reopenings(of: number) + 1
    }
  }

  mutating func end(_ number: Int, _ ending: HandleEnding) {
    let index = number - 2
    if handles.later.indices.contains(index) {
      handles.later[index].ending = ending
    } else {
      handles.firstEnding = ending
    }
  }
}

/// A later requester's access to a code that another one requested first, with its own ID, guesses and end.
///
/// The first requester's handle is the verification itself, so usually nothing more is stored.
struct VerificationHandle: Sendable, Hashable, Codable {
  let id: String
  let requester: [UInt8]
  var isProven: Bool
  let createdAt: UnixTime
  var checks = 0
  /// Absent while the state of the code decides.
  var ending: HandleEnding?
  /// Number of times its holder canceled it and requested it again. Absent for none.
  var reopenings: Int?

  /// Apply ``VerificationEvent/joined(_:sends:languageCode:)`` next.
  init(id: String, requester: [UInt8], isProven: Bool, at now: UnixTime) {
    self.id = id
    self.requester = requester
    self.isProven = isProven
    createdAt = now
  }
}

/// End of a handle whose code stays valid for others.
enum HandleEnding: String, Sendable, Codable {
  case canceled
  /// Wrong codes used up its guesses.
  case exhausted
}

/// Empty with one requester.
struct HandleSet: Sendable, Hashable, Codable {
  /// All handles but the first, in the order in which they began. The first of them has number 2.
  var later: [VerificationHandle] = []
  var firstEnding: HandleEnding?
  var firstReopenings: Int?
  /// The handle through which the code came back, unless it is the first.
  var approver: Int?
  /// The handle that requested an SMS, by the number of the SMS, unless it is the first.
  var askers: [Int: Int] = [:]

  var checks: Int { later.reduce(0) { $0 + $1.checks } }

  var isEmpty: Bool { self == HandleSet() }
}

/// A verification as the holder of one handle sees it: its own part and the state of the code, nothing of other
/// requesters.
struct HandleView: Sendable, Hashable {
  var state: VerificationState
  var failure: VerificationFailure?
  var expiresAt: UnixTime
  var timeline: [TimelineEntry]
}

extension PhoneVerification {
  /// While the code can come back, each holder sees whether an SMS with it is known to be accepted. A code that came
  /// back through another handle has expired for this one.
  func view(through number: Int) -> HandleView {
    var view = HandleView(state: state, failure: failure, expiresAt: expiresAt, timeline: entries(of: number))
    switch ending(of: number) {
    case .canceled?: (view.state, view.failure) = (.canceled, nil)
    case .exhausted?: (view.state, view.failure) = (.failed, failure(of: number))
    case nil where state == .approved && number != approver:
      view.state = .expired
      if let endedAt {
        view.expiresAt = min(expiresAt, endedAt)
        view.timeline.append(TimelineEntry(at: endedAt, kind: .expired))
      }
    case nil: break
    }
    return view
  }

  func failure(of number: Int) -> VerificationFailure? {
    switch ending(of: number) {
    case .exhausted?: .tooManyAttempts
    case .canceled?: nil
    case nil: failure
    }
  }

  var approver: Int? { state == .approved ? handles.approver ?? Self.firstHandle : nil }

  private func entries(of number: Int) -> [TimelineEntry] {
    guard !handles.isEmpty else { return timeline.entries }
    let hasOwnEnding = ending(of: number) != nil
    return timeline.entries.filter { entry in
      if let handle = entry.handle { return handle == number }
      return entry.kind.endsAll ? !hasOwnEnding : number == Self.firstHandle
    }
  }
}

extension TimelineEntry.Kind {
  /// Whether the entry ends the code for all handles, unless it names one.
  fileprivate var endsAll: Bool { self == .expired || self == .failed }
}

extension TimelineEntry {
  func of(_ handle: Int) -> TimelineEntry {
    var entry = self
    entry.handle = handle == PhoneVerification.firstHandle ? nil : handle
    return entry
  }
}
