import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import SQLite
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct MembershipTests {
  private static func check(_ file: String, _ id: String, _ secret: UInt8, isUsed: Bool = true) -> CheckValue {
    CheckValue(file: file, id: id, code: Array(repeating: secret, count: 32), isUsed: isUsed)
  }

  private static func pepper(_ secret: UInt8, isUsed: Bool = true) -> CheckValue {
    check("pepperFile", "", secret, isUsed: isUsed)
  }

  private static func key(_ id: String, _ secret: UInt8, isUsed: Bool = true) -> CheckValue {
    check("keysFile", id, secret, isUsed: isUsed)
  }

  private static func member(
    _ secrets: [CheckValue], isLiving: Bool = true, isAdmitted: Bool = true, age: Duration = .seconds(10)
  ) -> Member {
    Member(
      name: "coordinator@other/7", isSelf: false, isLiving: isLiving, isAdmitted: isAdmitted, age: age,
      secrets: secrets, projects: "")
  }

  private static func problem(_ own: [CheckValue], _ members: Member...) -> String? {
    MemberView(members: members, secrets: own).problem.map { "\($0.text)" }
  }

  @Test func `A pepper has to be that of a member that works, or to name it as the one before`() {
    let other = Self.member([Self.pepper(1)])
    #expect(Self.problem([Self.pepper(1)], other) == nil)
    #expect(Self.problem([Self.pepper(2), Self.pepper(1, isUsed: false)], other) == nil)
    #expect(Self.problem([Self.pepper(2)], other) == "pepperFile differs from that of coordinator@other/7")
    let problem = MemberView(members: [other], secrets: [Self.pepper(2)]).problem
    #expect(problem?.hint?.contains("previousPepperFile") == true)
    // What it compares with only, it makes nothing with.
    #expect(Self.problem([Self.pepper(1)], Self.member([Self.pepper(1), Self.pepper(2, isUsed: false)])) == nil)
    // One that does not work itself decides nothing.
    #expect(Self.problem([Self.pepper(1)], Self.member([Self.pepper(2)], isAdmitted: false)) == nil)
  }

  @Test func `Where no member works, the pepper of the last one counts for an hour, and its keys do not`() {
    let last = Self.member([Self.pepper(1), Self.key("a", 1)], isLiving: false, age: .seconds(60))
    let before = Self.member([Self.pepper(3)], isLiving: false, age: .seconds(600))
    #expect(Self.problem([Self.pepper(1)], before, last) == nil)
    #expect(
      Self.problem([Self.pepper(2)], before, last)
        == "pepperFile is not the one that coordinator@other/7 used, and codes made under that may live")
    let hint = MemberView(members: [last], secrets: [Self.pepper(2)]).problem?.hint
    #expect(hint?.contains("in 59 min nothing of it is left") == true)
    let old = Self.member([Self.pepper(1)], isLiving: false, age: .seconds(3_600))
    #expect(Self.problem([Self.pepper(2)], old) == nil)
    // A living one is what counts.
    #expect(Self.problem([Self.pepper(3)], last, Self.member([Self.pepper(3)])) == nil)
  }

  @Test func `A key that a member uses must not be missing, and no name must stand for two keys`() {
    let other = Self.member([Self.key("new", 1), Self.key("old", 2, isUsed: false)])
    #expect(Self.problem([Self.key("new", 1)], other) == nil)
    #expect(Self.problem([Self.key("next", 3), Self.key("new", 1, isUsed: false)], other) == nil)
    #expect(
      Self.problem([Self.key("old", 2)], other)
        == "keysFile lacks the key \"new\", which coordinator@other/7 uses")
    #expect(
      Self.problem([Self.key("new", 1), Self.key("old", 9, isUsed: false)], other)
        == "keysFile has another key \"old\" than coordinator@other/7")
    // A file of another name has names of its own.
    #expect(Self.problem([Self.key("new", 1), Self.check("tokenKeysFile", "old", 9)], other) == nil)
  }

  @Test func `A check value tells equal secrets and no more, and survives its storing`() throws {
    let (one, other) = (
      try SymmetricKey(id: "a", bytes: SecureRandom.bytes(32)), try SymmetricKey(id: "b", bytes: SecureRandom.bytes(32))
    )
    let ring = CheckValue.all(try KeyRing(sealing: one, others: [other]), file: "keysFile")
    #expect(ring.map(\.id) == ["a", "b"] && ring.map(\.isUsed) == [true, false])
    #expect(ring[0].value.utf8.count == 32 && ring[0].value != ring[1].value)
    #expect(ring[0] == CheckValue.all(try KeyRing(sealing: one), file: "keysFile")[0])
    let pair = try PrivateSealingKey.generate(id: "pair")
    let pairs = CheckValue.all(try PrivateSealingKeys([pair]).publicKeys, file: "sealingKeysFile")
    let all = ring + pairs + [Self.pepper(1)]
    #expect([CheckValue](text: all.text) == all)
    #expect([CheckValue](text: "of another version\n" + all.text) == all)
  }

  @Test func `A digest is that of the content, whatever the order of its dictionaries and sets`() {
    struct App { var names: [String: String], kinds: Set<Int>, gap: Duration? }
    let names = Dictionary(uniqueKeysWithValues: (0..<50).map { ("n\($0)", "v\($0)") })
    let reversed = Dictionary(uniqueKeysWithValues: (0..<50).reversed().map { ("n\($0)", "v\($0)") })
    let digest = MemberFacts.digest(App(names: names, kinds: [1, 2, 3], gap: .seconds(1)))
    #expect(digest == MemberFacts.digest(App(names: reversed, kinds: [3, 2, 1], gap: .seconds(1))))
    #expect(digest != MemberFacts.digest(App(names: names, kinds: [1, 2, 4], gap: .seconds(1))))
    #expect(digest != MemberFacts.digest(App(names: names, kinds: [1, 2, 3], gap: nil)))
  }

  /// A register in memory, as several processes see it.
  private final class Register: Sendable {
    let entries = Mutex<[String: Member.Entry]>([:])
    let dead = Mutex<Set<String>>([])

    struct Seat: MemberRegister {
      let name: String
      let register: Register

      func enroll(_ decide: @escaping @Sendable ([Member]) -> Member.Entry?) async throws(StoreError) {
        let dead = register.dead.withLock { $0 }
        register.entries.withLock { entries in
          let members = entries.sorted { $0.key < $1.key }.map { name, entry in
            Member(
              name: name, isSelf: name == self.name, isLiving: !dead.contains(name), isAdmitted: entry.isAdmitted,
              age: .zero, secrets: entry.secrets, projects: entry.projects)
          }
          if let entry = decide(members) { entries[name] = entry }
        }
      }
    }

    func isAdmitted(_ name: String) -> Bool? { entries.withLock { $0[name]?.isAdmitted } }
  }

  private struct Process {
    let attendance: Attendance
    let membership: Membership
    let metrics = MetricsRegistry()

    init(
      _ name: String, _ register: Register, _ secrets: [CheckValue],
      projects: @escaping @Sendable () -> String = { "" }
    ) {
      attendance = Attendance(metrics, logger: Logger(label: "test", sink: MemorySink()))
      membership = Membership(
        Register.Seat(name: name, register: register), attendance, MemberFacts(secrets: secrets, projects: projects),
        metrics)
    }

    var works: Bool { attendance.health == .ok }
  }

  private let start = ContinuousClock.now

  @Test func `A second member with another pepper does not work; the first one goes on`() async throws {
    let register = Register()
    let first = Process("a", register, [Self.pepper(1)])
    let second = Process("b", register, [Self.pepper(2)])
    for _ in 0..<3 {
      try await first.membership.round(at: start)
      try await second.membership.round(at: start)
      #expect(first.works && !second.works)
    }
    #expect(register.isAdmitted("b") == false)
    // It works as soon as it has the right one.
    let repaired = Process("b", register, [Self.pepper(1)])
    try await repaired.membership.round(at: start)
    #expect(repaired.works)
  }

  @Test
  func `A member with a new pepper waits until those that lack it have stepped aside, and these until they have it`()
    async throws
  {
    let register = Register()
    let old = Process("a", register, [Self.pepper(1)])
    try await old.membership.round(at: start)
    let new = Process("b", register, [Self.pepper(2), Self.pepper(1, isUsed: false)])
    try await new.membership.round(at: start)
    #expect(old.works && !new.works && register.isAdmitted("b") == true)
    // It steps aside, and tells so only afterwards.
    try await old.membership.round(at: start + .seconds(1))
    #expect(!old.works && register.isAdmitted("a") == true)
    try await new.membership.round(at: start + .seconds(1))
    #expect(!new.works)
    try await old.membership.round(at: start + .seconds(2))
    #expect(!old.works && register.isAdmitted("a") == false)
    try await new.membership.round(at: start + .seconds(2))
    #expect(new.works)
    let restarted = Process("a", register, [Self.pepper(2), Self.pepper(1, isUsed: false)])
    try await restarted.membership.round(at: start + .seconds(9))
    #expect(restarted.works && new.works)
  }

  @Test func `It does not wait longer for one that is frozen`() async throws {
    let register = Register()
    try await Process("a", register, [Self.pepper(1)]).membership.round(at: start)
    let new = Process("b", register, [Self.pepper(2), Self.pepper(1, isUsed: false)])
    for seconds in 0..<5 {
      try await new.membership.round(at: start + .seconds(seconds))
      #expect(!new.works)
    }
    try await new.membership.round(at: start + .seconds(5))
    #expect(new.works)
  }

  @Test func `The change in two steps keeps all members at work`() async throws {
    let register = Register()
    let (old, new) = (Self.pepper(1), Self.pepper(2))
    let steps: [[CheckValue]] = [
      [old, Self.pepper(2, isUsed: false)], [new, Self.pepper(1, isUsed: false)], [new],
    ]
    var processes = ["a": Process("a", register, [old]), "b": Process("b", register, [old])]
    for step in steps {
      for name in ["a", "b"] {
        processes[name] = Process(name, register, step)
        for _ in 0..<3 {
          for process in processes.values { try await process.membership.round(at: start) }
        }
        #expect(processes.values.filter(\.works).count == 2, "\(step) of \(name)")
      }
    }
  }

  @Test func `Other projects are told after a minute, and stop nothing`() async throws {
    let register = Register()
    let projects = Mutex("one")
    let first = Process("a", register, [], projects: { "one" })
    let second = Process("b", register, [], projects: { projects.withLock { $0 } })
    for process in [first, second] { try await process.membership.round(at: start) }
    projects.withLock { $0 = "two" }
    for process in [second, first] { try await process.membership.round(at: start + .seconds(1)) }
    try await first.membership.round(at: start + .seconds(60))
    #expect(first.membership.detail == nil)
    try await first.membership.round(at: start + .seconds(61))
    #expect(first.membership.detail == "other projects, apps or providers than b" && first.works)
    #expect(first.metrics.render().contains("countersign_members_differ 1"))
    projects.withLock { $0 = "one" }
    for process in [second, first] { try await process.membership.round(at: start + .seconds(62)) }
    #expect(first.membership.detail == nil && first.metrics.render().contains("countersign_members_differ 0"))
  }

  private func entry(_ secret: UInt8, isAdmitted: Bool = true) -> Member.Entry {
    Member.Entry(isAdmitted: isAdmitted, secrets: [Self.pepper(secret)], projects: "p")
  }

  private func members(_ register: any MemberRegister, writing entry: Member.Entry? = nil) async throws -> [Member] {
    let seen = Mutex<[Member]>([])
    try await register.enroll { members in
      seen.withLock { $0 = members }
      return entry
    }
    return seen.withLock { $0 }
  }

  @Test func `In PostgreSQL each sees the others, and which of them live`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let (first, second) = (try await database.open(), try await database.open())
      #expect(try await members(first, writing: entry(1)).isEmpty)
      let seen = try await members(second, writing: entry(2, isAdmitted: false))
      #expect(seen.map(\.isLiving) == [true] && seen.map(\.isSelf) == [false] && seen.map(\.isAdmitted) == [true])
      #expect(seen[0].secrets == [Self.pepper(1)] && seen[0].projects == "p" && seen[0].age < .seconds(120))
      #expect(try await members(second).map(\.isSelf) == [true, false])
      await second.close()
      await first.close()
      // Of the dead those that worked are kept.
      let third = try await database.open()
      _ = try await members(third, writing: entry(3))
      let left = try await members(third)
      #expect(left.map(\.isLiving) == [true, false] && left.map(\.secrets) == [[Self.pepper(3)], [Self.pepper(1)]])
    }
  }

  @Test func `In a file each sees the last one that worked before it, also one of its own name`() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.path + "/members.sqlite"
    let database = try await Database.open(path: path, migrations: [Migration(version: 1, sql: MemberSchema.sql)])
    let clock = ManualClock()
    func open() -> SQLiteMembers { SQLiteMembers(database, name: "coordinator@host/1", clock: clock) }
    #expect(try await members(open(), writing: entry(1)).isEmpty)
    clock.advance(by: .seconds(30))
    let wrong = open()
    let seen = try await members(wrong, writing: entry(2, isAdmitted: false))
    #expect(seen.map(\.isLiving) == [false] && seen.map(\.age) == [.seconds(30)])
    #expect(try await members(wrong).count == 2)
    let next = open()
    #expect(try await members(next, writing: entry(3)).filter(\.isAdmitted).map(\.secrets) == [[Self.pepper(1)]])
    #expect(try await members(next).map(\.secrets) == [[Self.pepper(3)]])
    await database.close()
  }
}
