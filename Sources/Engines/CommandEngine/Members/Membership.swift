import CountersignConcurrency
import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import RecordStore
public import ServiceRuntime
import Synchronization

/// Facts that a process tells the other members of its service.
public struct MemberFacts: Sendable {
  /// Check values of its secrets.
  public var secrets: [CheckValue]
  /// Digest of projects, apps and providers, which may change.
  public var projects: @Sendable () -> String

  public init(secrets: [CheckValue] = [], projects: @escaping @Sendable () -> String = { "" }) {
    self.secrets = secrets
    self.projects = projects
  }

  /// Digest of a value whose parts print alike in every process. Dictionaries and sets in any order.
  public static func digest(_ value: Any) -> String {
    Hexadecimal.encode(Array(SHA256.hash(Array(text(of: value).utf8)).prefix(8)))
  }

  private static func text(of value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    var parts = mirror.children.map { "\($0.label ?? "")=\(text(of: $0.value))" }
    if parts.isEmpty { return "\(value)" }
    if mirror.displayStyle == .dictionary || mirror.displayStyle == .set { parts.sort() }
    return "\(mirror.subjectType)(\(parts.joined(separator: ",")))"
  }
}

/// A member that is new, or has new secrets, is admitted when it can open and compare what the others make. Those that
/// cannot open and compare what it makes step aside; it waits for that before it consumes.
final class Membership: Sendable {
  static let interval = Duration.seconds(1)
  /// Longest wait for members to step aside: one that is frozen does not.
  static let patience = Duration.seconds(5)
  /// Time after which other projects, apps or providers are told: a change reaches all members within a minute.
  static let tolerance = Duration.seconds(60)

  private struct State {
    var waitingSince: ContinuousClock.Instant?
    var differingSince: ContinuousClock.Instant?
    var differing: [String] = []
    var wasAside = false
  }

  private let register: any MemberRegister
  private let attendance: Attendance
  private let facts: MemberFacts
  private let state = Mutex(State())
  private let differs: Gauge

  init(_ register: any MemberRegister, _ attendance: Attendance, _ facts: MemberFacts, _ metrics: MetricsRegistry) {
    self.register = register
    self.attendance = attendance
    self.facts = facts
    differs = metrics.gauge(
      "countersign_members_differ",
      "Other members of the service that have had other projects, apps or providers for a minute: their number.")
  }

  func round(at now: ContinuousClock.Instant) async throws(StoreError) {
    let (secrets, projects) = (facts.secrets, facts.projects())
    let wasAside = state.withLock { $0.wasAside }
    let seen = Mutex(MemberView(members: [], secrets: secrets))
    try await register.enroll { members in
      let view = MemberView(members: members, secrets: secrets)
      seen.withLock { $0 = view }
      let own = members.first(where: \.isSelf)
      // It has to have stepped aside before others rely on it.
      let stays = own?.isAdmitted == true && !wasAside
      let entry = Member.Entry(isAdmitted: view.problem == nil || stays, secrets: secrets, projects: projects)
      return own?.entry == entry && own.map { $0.age < Member.renewal } == true ? nil : entry
    }
    let view = seen.withLock { $0 }
    note(view, at: now)
    compare(view, projects, at: now)
  }

  private func note(_ view: MemberView, at now: ContinuousClock.Instant) {
    let problem = view.problem ?? wait(for: view.lagging, at: now)
    attendance.set(.secrets, problem)
    state.withLock { $0.wasAside = view.problem != nil }
  }

  private func wait(for lagging: [Member], at now: ContinuousClock.Instant) -> Attendance.Problem? {
    let since = state.withLock { state in
      state.waitingSince = lagging.isEmpty ? nil : state.waitingSince ?? now
      return state.waitingSince
    }
    guard let since, let member = lagging.first, now - since < Self.patience else { return nil }
    return Attendance.Problem("\(member.name) lacks a new key or pepper of this process, and is to step aside first")
  }

  private func compare(_ view: MemberView, _ projects: String, at now: ContinuousClock.Instant) {
    let names = view.differing(from: projects)
    let told = state.withLock { state in
      state.differingSince = names.isEmpty ? nil : state.differingSince ?? now
      state.differing = state.differingSince.map { now - $0 >= Self.tolerance } == true ? names : []
      return state.differing.count
    }
    differs.set(Double(told))
  }

  /// For `/readyz`. It fails nothing.
  var detail: String? {
    let names = state.withLock { $0.differing }
    return names.isEmpty ? nil : "other projects, apps or providers than \(names.joined(separator: ", "))"
  }
}

extension Member {
  fileprivate var entry: Entry { Entry(isAdmitted: isAdmitted, secrets: secrets, projects: projects) }
}

struct MembershipService: Service {
  let name = "members"
  let membership: Membership
  private let stopRequested = Latch()

  init(_ membership: Membership) {
    self.membership = membership
  }

  func run() async {
    await stopRequested.cancelingWhenOpen {
      while !Task.isCancelled {
        // The last view stays; another check reports that the session is absent.
        try? await membership.round(at: .now)
        try? await Task.sleep(for: Membership.interval)
      }
    }
  }

  func stop() async { stopRequested.open() }
}
