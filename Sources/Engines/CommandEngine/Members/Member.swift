public import CountersignTelemetry
import RecordStore
public import ServiceRuntime

/// A process of a service, as it stands in the database that it shares with the others.
public struct Member: Sendable, Hashable {
  /// Name of the process and its host, for operators.
  public var name: String
  /// Whether it is this process.
  public var isSelf: Bool
  /// Whether its session lives.
  public var isLiving: Bool
  /// Whether it works: its secrets fit those of the others.
  public var isAdmitted: Bool
  /// Time since it was last seen.
  public var age: Duration
  /// Check values of its secrets.
  public var secrets: [CheckValue]
  /// Digest of projects and apps.
  public var projects: String

  /// The part that a process writes of itself.
  public struct Entry: Sendable, Hashable {
    /// Whether it works.
    public var isAdmitted: Bool
    /// Check values of its secrets.
    public var secrets: [CheckValue]
    /// Digest of projects and apps.
    public var projects: String
  }

  static let renewal = Duration.seconds(60)
  /// Time for which the pepper of the last member binds those that come after it. Codes, receipts and temporary proofs
  /// that were made under it are over by then.
  static let memory = Duration.seconds(3600)
}

/// The members of a service, in its database.
public protocol MemberRegister: Sendable {
  /// Reads all members, and writes what a body decides of this one, in one transaction: of two members the later one
  /// sees the earlier one's entry.
  /// - Parameter decide: `nil` to write nothing. May run again.
  /// - Throws: ``StoreError``; nothing is written then.
  func enroll(_ decide: @escaping @Sendable ([Member]) -> Member.Entry?) async throws(StoreError)
}

struct MemberView: Sendable {
  let members: [Member]
  let secrets: [CheckValue]

  /// Others that work now. Where none does, the one that worked last, for as long as its codes live.
  private var others: [Member] { members.filter { !$0.isSelf && $0.isAdmitted && $0.isLiving } }
  private var last: Member? {
    members.filter { !$0.isSelf && $0.isAdmitted && $0.age < Member.memory }.min { $0.age < $1.age }
  }

  var problem: Attendance.Problem? {
    for member in others {
      for other in member.secrets {
        if let problem = problem(other, of: member) { return problem }
      }
    }
    guard others.isEmpty, let last else { return nil }
    for pepper in last.secrets where pepper.isUsed && pepper.id.isEmpty && !has(pepper) {
      return lacks(pepper, of: last, restIn: Member.memory - last.age)
    }
    return nil
  }

  /// They cannot open or compare what this process makes, and step aside as soon as they see it.
  var lagging: [Member] {
    let used = secrets.filter(\.isUsed)
    return others.filter { other in !used.allSatisfy { MemberView(members: [], secrets: other.secrets).has($0) } }
  }

  func differing(from projects: String) -> [String] {
    members.filter { !$0.isSelf && $0.isLiving && $0.projects != projects }.map(\.name)
  }

  private func has(_ other: CheckValue) -> Bool {
    secrets.contains { $0.file == other.file && $0.id == other.id && $0.value == other.value }
  }

  private func problem(_ other: CheckValue, of member: Member) -> Attendance.Problem? {
    if has(other) { return nil }
    if other.id.isEmpty { return other.isUsed ? lacks(other, of: member, restIn: nil) : nil }
    if secrets.contains(where: { $0.file == other.file && $0.id == other.id }) {
      return Attendance.Problem(
        "\(other.file) has another key \"\(other.id)\" than \(member.name)",
        hint: "give both the same file, and each new key a name of its own; then restart")
    }
    guard other.isUsed else { return nil }
    return Attendance.Problem(
      "\(other.file) lacks the key \"\(other.id)\", which \(member.name) uses",
      hint: "give this process the same file, and restart it")
  }

  private func lacks(_ pepper: CheckValue, of member: Member, restIn rest: Duration?) -> Attendance.Problem {
    let previous = "previous" + pepper.file.prefix(1).uppercased() + pepper.file.dropFirst()
    let hint = "give this process the same file; to change it, name that file as \(previous) first; then restart"
    guard let rest else {
      return Attendance.Problem("\(pepper.file) differs from that of \(member.name)", hint: hint)
    }
    let minutes = max(1, (rest.components.seconds + 59) / 60)
    return Attendance.Problem(
      "\(pepper.file) is not the one that \(member.name) used, and codes made under that may live",
      hint: "\(hint). If it is lost, wait: in \(minutes) min nothing of it is left, and this process goes on by itself")
  }
}
