import CountersignMessages
import CountersignTelemetry

/// Brings the users of a file in, batch by batch, several at a time.
struct AccountImport: Sendable {
  /// Batches on their way at a time.
  static let window = 8
  /// Time for which a batch is sent again while accounts is away or busy.
  static let patience = Duration.seconds(300)

  let accounts: any AccountsConnection
  let project: String
  /// Algorithm of hashes that do not name theirs.
  let hash: HashParameters?
  let timeout: Duration
  /// Whether accounts of the same IDs stay as they are, rather than being replaced.
  var keepsExisting = false
  var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  /// A batch that accounts has answered.
  struct Settled: Sendable {
    let batch: ImportBatch
    let problems: Result<[ImportBatch.Problem], CommandLineError>
  }

  /// Sends all batches. They are settled in the order of the file.
  /// - Returns: the first error, with which the rest stays out.
  func run(
    _ batches: inout ImportBatches, settle: (ImportBatch, [ImportBatch.Problem]) throws(CommandLineError) -> Void
  ) async throws(CommandLineError) {
    var source = batches
    let result = await withTaskGroup(of: Settled.self, returning: Result<Void, CommandLineError>.self) { group in
      var order = ImportOrder()
      do throws(CommandLineError) {
        var onTheirWay = 0
        while true {
          while onTheirWay < Self.window, order.hasRoom, let batch = try source.next() {
            onTheirWay += 1
            group.addTask { Settled(batch: batch, problems: await send(batch)) }
          }
          guard let answered = await group.next() else { return .success(()) }
          onTheirWay -= 1
          for (batch, problems) in try order.settle(answered) { try settle(batch, problems) }
        }
      } catch {
        group.cancelAll()
        return .failure(error)
      }
    }
    batches = source
    try result.get()
  }

  private func send(_ batch: ImportBatch) async -> Result<[ImportBatch.Problem], CommandLineError> {
    guard !batch.users.isEmpty else { return .success(batch.problems) }
    var content = UserBatch(users: batch.users)
    content.hash = batch.hasOwnHashes.flatMap { $0 ? HashOptions.own : hash }
    content.keepsExisting = keepsExisting ? true : nil
    var left = Self.patience
    while true {
      do throws(CommandLineError) {
        let reply = try await accounts.ask(timeout: timeout) { id throws(CommandLineError) in
          ImportAccounts(project: project, batch: try accounts.seal(content, for: ImportAccounts.self, id: id))
        }
        return .success(problems(of: batch, reply))
      } catch {
        guard error.mayPass, left > .zero else { return .failure(error) }
        let wait = Duration.seconds(max(1, error.apiError?.retryAfter ?? 1))
        do { try await pause(wait) } catch { return .failure(CommandLineError(.unavailable, "the import was stopped")) }
        left -= wait
      }
    }
  }

  private func problems(of batch: ImportBatch, _ reply: AccountsImported) -> [ImportBatch.Problem] {
    let refused = reply.refused.filter { batch.lines.indices.contains($0.index) }.map {
      ImportBatch.Problem(
        line: batch.lines[$0.index], reason: $0.message, isOfExisting: keepsExisting && $0.isOfExisting)
    }
    return (batch.problems + refused).sorted { $0.line < $1.line }
  }
}

/// Brings answers into the order of the file.
private struct ImportOrder {
  /// Batches that wait for an earlier one, which may be sent again for minutes.
  private static let maxWaiting = 64

  private var settled = 0
  private var waiting: [Int: (ImportBatch, [ImportBatch.Problem])] = [:]

  var hasRoom: Bool { waiting.count < Self.maxWaiting }

  /// - Returns: the batches whose turn it is.
  mutating func settle(
    _ answered: AccountImport.Settled
  ) throws(CommandLineError) -> [(ImportBatch, [ImportBatch.Problem])] {
    waiting[answered.batch.number] = (answered.batch, try answered.problems.get())
    var turns: [(ImportBatch, [ImportBatch.Problem])] = []
    while let next = waiting.removeValue(forKey: settled) {
      turns.append(next)
      settled += 1
    }
    return turns
  }
}

extension RefusedUser {
  fileprivate var isOfExisting: Bool {
    message == "\(APIErrorCode.duplicateLocalID.rawValue) : another account has the ID"
  }
}

extension CommandLineError {
  /// Whether the same command may succeed later.
  fileprivate var mayPass: Bool { code == .unavailable || apiError?.isRetriable == true }
}
