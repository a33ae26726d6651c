import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry
public import RecordStore

/// A command that a flow carries out.
public struct CommandKind: Sendable {
  /// Users of the broker that may send a command.
  public enum Users: Sendable, Hashable {
    /// Everyone whom the broker allows to publish commands.
    case all
    /// Those that the configuration names as operators (`operators`).
    case operators
    /// Those that the configuration names as requesters (`requesters`).
    case requesters
    /// Both: a command of administrators, who reach it by a requester.
    case requestersAndOperators
  }

  /// Its type, `verification.start.v1`.
  public let type: MessageType
  /// Users that may send it.
  public let users: Users
  /// Whether it changes nothing: it is neither recorded nor stored.
  public let isLook: Bool
  /// Whether it is refused when it is too old: its requester has gone.
  public let isRefusedLate: Bool
  /// Time for which its answer is recorded, if ``EngineRules/inboxRetention`` is shorter.
  public let answerIsKeptFor: Duration
  let read: @Sendable (Envelope, [UInt8], UnixTime, [String: APIError]) throws(APIError) -> any CommandOrder

  /// - Parameters:
  ///   - command: the body of the command.
  ///   - users: users that may send it.
  ///   - isLook: whether it changes nothing.
  ///   - isRefusedLate: whether it is refused when it is too old.
  ///   - answerIsKeptFor: time for which its answer is recorded, if the retention of the inbox is shorter.
  ///   - order: checks a command and does all of its work that needs no store; throws the error for the requester.
  public init<Body: Command>(
    _ command: Body.Type, users: Users = .all, isLook: Bool = false, isRefusedLate: Bool = false,
    answerIsKeptFor: Duration = .zero,
    order: @escaping @Sendable (Body, Envelope, UnixTime) throws(APIError) -> any CommandOrder
  ) {
    type = Body.type
    self.users = users
    self.isLook = isLook
    self.isRefusedLate = isRefusedLate
    self.answerIsKeptFor = answerIsKeptFor
    read = { envelope, json, now, missingFields throws(APIError) in
      let body: Body
      do throws(ContractProblem) {
        body = try Body(json: json)
      } catch {
        if error.code == .missingField, let field = error.field, let known = missingFields[field] { throw known }
        throw APIError(error)
      }
      return try order(body, envelope, now)
    }
  }
}

/// A command, read and checked, ready for its transaction.
public protocol CommandOrder: Sendable {
  /// Distinguishes orders under the same sender and `message_id`. Keyed where a hash would reveal something to a quick
  /// search. Empty for a look, which is not recorded.
  var fingerprint: [UInt8] { get }

  /// Fingerprints under which the same order may have been recorded before, under an earlier secret. Made only when the
  /// present one differs.
  func formerFingerprints() -> [[UInt8]]

  /// Does work that has to wait, such as a slow hash or several transactions, before the transaction of the command.
  ///
  /// At most ``CommandStage/Window/maxAtOnce`` of its window run at once, beside the batches. Cancelable.
  /// - Returns: the order with the outcome of that work; `nil` when there is no such work.
  var stage: CommandStage? { get }

  /// Adds what the command is known to look up. All else is found by running it, so only a command that is frequent
  /// names anything: it saves a run and a load.
  /// - Throws: ``StoreError``, when a key cannot be made.
  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError)

  /// Adds what the command is known to look up because of what ``addFirstKeys(to:at:)`` has loaded. It saves all of its
  /// batch a run, if none of them looks up more. A batch with such a command loads twice before it runs, so every
  /// frequent command that has a second load names it.
  /// - Throws: ``StoreError``, which does not count: it comes again when the command runs.
  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError)

  /// Carries the command out. For a look, answers it.
  ///
  /// It runs again when it has looked up what is not loaded, and then makes the same of the same: random bytes are drawn
  /// before. What is expensive comes behind the look-ups.
  /// - Returns: the answer; `nil` when the command waits and is answered later, with ``WorkingSet/answer(_:to:_:)``.
  /// - Throws: ``StoreError``; an error of the content gives this command up, any other undoes its batch.
  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer?

  /// Takes note that a waiting command has arrived again, possibly with another reply address.
  /// - Returns: whether it is still waited for; otherwise it is carried out as if it had just arrived.
  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool

  /// Makes an answer once more that was not recorded because it holds a secret.
  /// - Parameter note: ``CommandAnswer/note`` of the first answer.
  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer
}

extension CommandOrder {
  public var fingerprint: [UInt8] { [] }
  public var stage: CommandStage? { nil }
  public func formerFingerprints() -> [[UInt8]] { [] }
  public func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {}
  public func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {}

  public func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool { false }

  public func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    throw StoreError(.misuse, "a command that records its answers has an unrecorded one")
  }

  func isSame(as recorded: [UInt8]) -> Bool {
    recorded == fingerprint || formerFingerprints().contains(recorded)
  }
}

/// Work of a command that has to wait, before its transaction.
public struct CommandStage: Sendable {
  /// Bound on stages of one kind, so that those that wait for somebody else leave room for the rest. Further ones wait,
  /// and hold up no other command.
  public enum Window: Sendable, CaseIterable {
    /// Work of this process and its store. Once half of the prefetch waits or runs, in all windows together, more are
    /// refused at once (`BUSY`, with `retryAfter`).
    case general
    /// Calls of other services. They are refused once a quarter of the prefetch waits or runs.
    case providers
    /// Hashing of passwords. Refused like calls of other services, so that a rush of sign-ins leaves room for the rest.
    case hashing

    /// Maximum number of commands of a queue that run at once.
    public var maxAtOnce: Int {
      switch self {
      case .general: 8
      case .providers: 32
      case .hashing: 16
      }
    }

    func maxStaged(prefetch: Int) -> Int {
      switch self {
      case .general: max(1, prefetch / 2)
      case .providers, .hashing: max(1, prefetch / 4)
      }
    }
  }

  /// Time limit of a stage that names none.
  public static let longest = Duration.seconds(20)

  /// Bound that the work counts toward.
  public let window: Window
  /// Time after which the work is canceled. Unless it ends regularly all the same, the command is answered with an
  /// error, and may be sent again.
  public let longest: Duration
  /// Whether the work changes the store in transactions of its own. It is not done again for a command that has its
  /// answer, and one that ends midway is answered with ``CountersignMessages/APIError/unfinished``.
  public let changesStore: Bool
  let run: @Sendable (StageAccess) async throws(StoreError) -> any CommandOrder

  public init(
    window: Window = .general, longest: Duration = Self.longest, changesStore: Bool = false,
    _ run: @escaping @Sendable (StageAccess) async throws(StoreError) -> any CommandOrder
  ) {
    self.window = window
    self.longest = longest
    self.changesStore = changesStore
    self.run = run
  }
}

/// Access of a stage to the store.
public struct StageAccess: Sendable {
  let context: EngineContext

  /// The store, for looks.
  public var store: any Store { context.store }

  /// Present time.
  public func now() -> UnixTime { context.clock.now() }

  /// Runs a transaction of its own, with its effects, and publishes what it sends.
  /// - Parameters:
  ///   - first: keys that the body is known to look up.
  ///   - body: changes the set; see ``Store/transact(_:at:settling:_:)``.
  /// - Throws: the body's error, or a failure of the store; nothing is stored then.
  public func transact<Value: Sendable>(
    _ first: StoreKeys = StoreKeys(), _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let (value, messages) = try await context.transact(first, at: now(), settling: OutboxSettlement(), body)
    await context.publishNow(messages)
    return value
  }
}

/// Answer to a command.
public struct CommandAnswer: Sendable, Hashable {
  /// Type of the reply.
  public var type: MessageType
  /// Its body.
  public var body: [UInt8]
  /// The code of the error. `nil` when the command succeeded.
  public var error: APIErrorCode?
  /// Label for the metrics, when the code is not specific enough.
  public var label: String?
  /// Whether the same command may succeed later. Its side effects remain all the same: anything it counted or ended
  /// stays so when it is carried out again.
  public var isTransient = false
  /// Whether the stage of the command has changed the store: the answer is recorded although the transaction changes
  /// nothing more.
  public var isOfStage = false
  /// Bytes that are recorded in place of an answer that holds a secret. ``CommandOrder/answerAgain(_:in:)`` makes the
  /// answer from them once more.
  public var note: [UInt8]?

  public init(
    type: MessageType, body: [UInt8], error: APIErrorCode? = nil, label: String? = nil, isTransient: Bool = false
  ) {
    self.type = type
    self.body = body
    self.error = error
    self.label = label
    self.isTransient = isTransient
  }
}

extension CommandAnswer {
  var metricCode: String { label ?? error?.rawValue ?? "OK" }

  /// - Throws: ``StoreError/Code/content`` when the body cannot be written.
  public init(_ body: some MessageBody) throws(StoreError) {
    self.init(type: Swift.type(of: body).type, body: try body.written())
  }

  /// Counted under its original code.
  init(type: MessageType, again body: [UInt8]) {
    var code: APIErrorCode?
    if type == ErrorReply.type {
      do throws(ContractProblem) {
        code = try ErrorReply(json: body).error.code
      } catch {
        // Written by another version; the requester gets it unchanged.
        code = .internalError
      }
    }
    self.init(type: type, body: body, error: code)
  }

  /// An error is always answered, so this cannot fail: its texts are ours and short.
  public init(_ error: APIError) {
    let body: [UInt8]
    do throws(ContractProblem) {
      body = try ErrorReply(error).json()
    } catch {
      body = Array(#"{"error":{"code":"INTERNAL_ERROR","message":"the error could not be written"}}"#.utf8)
    }
    // Distinguished from faults of the service, which have to wake an operator.
    let label = error.reason == APIError.tooOld ? APIError.tooOld : nil
    self.init(type: ErrorReply.type, body: body, error: error.code, label: label, isTransient: error.retryAfter != nil)
  }
}

extension MessageBody {
  /// The body as JSON.
  /// - Throws: ``StoreError/Code/content`` when it cannot be written.
  public func written() throws(StoreError) -> [UInt8] {
    do throws(ContractProblem) {
      return try json()
    } catch {
      throw StoreError(.content, "a body of type \(Self.type.text) cannot be written: \(error)")
    }
  }
}
