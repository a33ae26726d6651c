import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import RecordStore
import Synchronization
import TestSupport
import Testing

@testable import Accounts

/// Processes of accounts on one store, each of which may be killed, with a broker and a coordinator that lose nothing.
final class KilledAccounts {
  enum Kind: String, CaseIterable, Sendable {
    case sqlite, postgresql

    /// On SQLite one works at a time.
    fileprivate var members: Int { self == .sqlite ? 1 : 2 }
  }

  private struct Member {
    let bench: AccountsBench
    let life: EngineLife
  }

  private struct Waiting {
    var delivery: Delivery
    var isReport: Bool
  }

  /// Messages that reached the broker.
  private final class Broker: Sendable {
    let arrived = Mutex<[Publication]>([])
  }

  /// Steps without an end after which a test fails.
  private static let maxSteps = 500

  let effects = CountedEffects()
  let setting: AccountsBench.Setting
  private let open: () async throws -> any Store
  private let prepare: (AccountsBench) -> Void
  private let broker = Broker()
  private var members: [Member] = []
  private var queue: [Waiting] = []
  private var turn = 0
  private var answered = 0
  private(set) var kills = 0
  /// Looks at the store whenever a process was killed.
  var check: (AccountsBench) async throws -> Void = { _ in }

  private init(
    _ count: Int, _ prepare: @escaping (AccountsBench) -> Void, _ open: @escaping () async throws -> any Store
  ) async throws {
    var setting = try AccountsBench.Setting()
    // Each run makes accounts of its own.
    setting.limits = .development
    self.setting = setting
    (self.prepare, self.open) = (prepare, open)
    for _ in 0..<count { members.append(try await start()) }
  }

  /// Runs a scenario once for each of its effects, with a process that ends there, and once without a kill.
  ///
  /// - Parameters:
  ///   - prepare: gives each process its projects.
  ///   - scenario: has the number of its run.
  static func cut(
    _ kind: Kind, prepare: @escaping (AccountsBench) -> Void = { _ in },
    _ scenario: (KilledAccounts, Int) async throws -> Void
  ) async throws {
    try await with(kind, prepare) { accounts in
      var cut = 0
      repeat {
        cut += 1
        accounts.effects.begin(last: nil)
        accounts.kills = 0
        do { try await scenario(accounts, cut) } catch {
          Issue.record(error, "killed behind effect \(cut)")
          return
        }
      } while accounts.kills > 0
      #expect(cut > 10)
    }
  }

  private static func with(
    _ kind: Kind, _ prepare: @escaping (AccountsBench) -> Void, _ body: (KilledAccounts) async throws -> Void
  ) async throws {
    switch kind {
    case .sqlite:
      try await StoreFile.with { file in
        try await body(KilledAccounts(kind.members, prepare) { try await file.open() })
      }
    case .postgresql:
      try await PrivatePostgreSQL.admit {
        let endpoint = try await PrivatePostgreSQL.shared.storeDatabase()
        let accounts = try await KilledAccounts(kind.members, prepare) { try await PostgreSQLStore.open(endpoint) }
        let result: Result<Void, any Error>
        do { result = .success(try await body(accounts)) } catch { result = .failure(error) }
        for member in accounts.members { await member.bench.die() }
        try result.get()
      }
    }
  }

  private func start() async throws -> Member {
    let life = EngineLife(effects)
    var setting = setting
    setting.exchange = { [exchange = setting.exchange] code in life.change() && exchange(code) }
    let bench = try await AccountsBench(open(), setting)
    prepare(bench)
    bench.store.live(life)
    bench.sink.answer { [broker] publication in
      if life.change() { broker.arrived.withLock { $0.append(publication) } }
      return .confirmed
    }
    return Member(bench: bench, life: life)
  }

  /// A process that lives.
  var bench: AccountsBench { members[0].bench }

  var arrived: [Publication] { broker.arrived.withLock { $0 } }

  /// Forgets what arrived, and has a process end with one of the effects from now on.
  func begin(killingBehind effect: Int) {
    broker.arrived.withLock { $0 = [] }
    answered = 0
    effects.begin(last: effect)
  }

  // MARK: Deliveries

  /// Delivers commands, those of several processes at once, until each is answered.
  func ask(_ messages: Message...) async throws -> [Message] { try await ask(messages) }

  /// Delivers commands at once, each under an ID that begins with a name, and reads their answers.
  ///
  /// - Parameter command: has a process, the command's ID and its place.
  func answers(
    _ name: String, of count: Int = 1, _ command: (AccountsBench, String, Int) throws -> some Command
  ) async throws -> [AccountsBench.Answer] {
    let ids = (0..<count).map { "\(name)-\($0)" }
    let replies = try await ask(
      ids.enumerated().map { place, id in try bench.message(command(bench, id, place), id: id) })
    return try zip(replies, ids).map { try bench.answer($0, $1) }
  }

  /// The same. One of them gets tokens, and the others are refused.
  func one(
    _ name: String, of count: Int = 2, _ command: (AccountsBench, String, Int) throws -> some Command
  ) async throws -> AccountsBench.Answer {
    let answers = try await answers(name, of: count, command)
    #expect(answers.count { $0.idToken != nil } == 1 && answers.count { $0.error != nil } == count - 1)
    return try #require(answers.first { $0.idToken != nil })
  }

  private func ask(_ messages: [Message]) async throws -> [Message] {
    queue += messages.map { message in
      var message = message
      message.correlationID = message.messageID
      return Waiting(delivery: Delivery(message: message), isReport: false)
    }
    try await work("the replies") { messages.allSatisfy { self.reply(to: $0) != nil } }
    return messages.compactMap { reply(to: $0) }
  }

  private func reply(to message: Message) -> Message? {
    arrived.last { $0.exchange.isEmpty && $0.message.correlationID == message.messageID }?.message
  }

  /// Goes on, and lets time pass where nothing else happens, until a condition holds and nothing is under way.
  func work(_ what: String, until isDone: () throws -> Bool) async throws {
    for _ in 0..<Self.maxSteps {
      try await step()
      guard queue.isEmpty, answered == arrived.count, try await members[0].bench.store.figures().messages == 0 else {
        continue
      }
      if try isDone() { return }
      setting.clock.advance(by: .seconds(1))
    }
    throw NeverHappened(description: "\(what) never came true")
  }

  private func step() async throws {
    try answer()
    try await deliver()
    try await bury()
    for member in members {
      await member.bench.maintenance.tidy()
      await member.bench.maintenance.publishLeftovers()
    }
    try await bury()
  }

  /// Each process takes one delivery; of one that dies with it the broker has it back.
  private func deliver() async throws {
    let taken = Array(queue.prefix(members.count))
    queue.removeFirst(taken.count)
    let places = taken.indices.map { ($0 + turn) % members.count }
    turn += 1
    let sources = taken.map { MemoryMessageSource([[$0.delivery]]) }
    await withTaskGroup(of: Void.self) { group in
      for (index, source) in sources.enumerated() {
        let context = members[places[index]].bench.context
        let pipeline = taken[index].isReport ? context.reportPipeline(source) : context.commandPipeline(source)
        group.addTask { await pipeline.run() }
      }
    }
    for (index, source) in sources.enumerated().reversed() {
      #expect(source.rejectedCount == 0)
      if source.ackedCount == 1, members[places[index]].life.change() { continue }
      var again = taken[index]
      again.delivery.isRedelivered = true
      queue.insert(again, at: 0)
    }
  }

  /// Starts another process in the place of each that was killed.
  private func bury() async throws {
    for index in members.indices where members[index].life.isOver {
      await members[index].bench.die()
      members[index] = try await start()
      kills += 1
      try await check(members[index].bench)
    }
  }

  // MARK: Coordinator

  /// Tokens that the coordinator was asked to revoke, in the order of the requests.
  private(set) var revoked: [String] = []

  private func answer() throws {
    for publication in arrived[answered...] where publication.exchange == Topology.Exchanges.commands {
      queue.append(Waiting(delivery: try answer(publication), isReport: true))
    }
    answered = arrived.count
  }

  private func answer(_ publication: Publication) throws -> Delivery {
    let (message, now) = (publication.message, setting.clock.now())
    switch publication.routingKey {
    case ForgetNumber.routingKey:
      let forgotten = NumberForgotten(verifications: 1, canceled: 0, replies: 1, waiting: 0, counts: 0)
      return ScriptedCoordinator.reply(forgotten, to: publication)
    case StartRevocation.routingKey:
      let start = try StartRevocation(json: message.body)
      let context = SealContext(
        messageType: StartRevocation.type, messageID: try #require(message.messageID), recipient: start.app)
      let token = try start.token.secret.open(with: setting.secrets.secrets.keys, for: context).reveal()
      let started = OperationStarted(
        operationID: token, kind: .appleRevocation, app: start.app, startedAt: now, repeated: revoked.contains(token))
      revoked.append(token)
      return ScriptedCoordinator.reply(started, to: publication)
    case GetOperationStatus.routingKey:
      let operation = try GetOperationStatus(json: message.body).operationID
      var status = OperationStatus(
        operationID: operation, kind: .appleRevocation, app: AccountsBench.app, state: .completed, failure: nil,
        startedAt: now, expiresAt: now, timeline: [.init(at: now, event: "revoke.accepted")])
      status.ending = .revoked
      return ScriptedCoordinator.reply(status, to: publication)
    default: return try setting.coordinator.answer(any: publication, at: now)
    }
  }

  // MARK: Outcomes

  /// Events under a name, without those that arrived again.
  func events(_ name: String) -> [Publication] {
    var ids: Set<String?> = []
    return arrived.filter {
      $0.exchange == Topology.Exchanges.events && $0.routingKey == name && ids.insert($0.message.messageID).inserted
    }
  }
}

extension AccountsBench {
  /// Compares an account with its keys and sessions: all of them are there, or none is.
  ///
  /// - Returns: whether there is one.
  func isWhole(_ account: RecordID, numbers: [String], subjects: [String], sessions: Int) async throws -> Bool {
    struct Found: Sendable {
      var account: AccountRecord?
      var sessions = 0
      var numbers: [String] = []
      var subjects: [String] = []
    }
    let found = try await look { set throws(StoreError) in
      var found = Found()
      found.account = try AccountRecord.find(account, project: Self.project, in: set)
      found.sessions = try set.group(SessionRecord.group(ofAccount: account)).records.count
      for number in numbers {
        let key = try AccountRecord.key(ofNumber: number, project: Self.project)
        if try set.holder(of: key)?.id == account { found.numbers.append(number) }
      }
      for subject in subjects {
        let key = try AccountRecord.key(ofIdentity: subject, at: AppleRevocation.provider, project: Self.project)
        if try set.holder(of: key)?.id == account { found.subjects.append(subject) }
      }
      return found
    }
    #expect(found.sessions == (found.account == nil ? 0 : sessions))
    #expect(found.numbers == [found.account?.phoneNumber].compactMap(\.self))
    #expect(found.subjects == [found.account?.identity(at: AppleRevocation.provider)?.subject].compactMap(\.self))
    return found.account != nil
  }
}
