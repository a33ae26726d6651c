import CountersignConcurrency

/// One or several connections to the same servers, and the bodies that wait for them.
final class Connections: Sendable {
  private let work: WorkQueue<PendingBody>
  private let actors: [ConnectionActor]
  private let boxes: [StatusBox<PostgreSQLStatus>]
  private let closing = Closing()
  private let name: String

  /// - Parameter count: number of connections.
  init(_ setting: ConnectionSetting, count: Int) throws(PostgreSQLError) {
    try setting.options.check()
    try setting.endpoint.check()
    let work = WorkQueue<PendingBody>(connections: count, limit: setting.options.maxWaiting)
    let boxes = (0..<count).map { _ in StatusBox(PostgreSQLStatus()) }
    let closing = closing
    self.work = work
    self.boxes = boxes
    name = setting.endpoint.description
    actors = boxes.enumerated().map { number, box in
      ConnectionActor(setting, number: number, work: work, status: box, closing: closing)
    }
  }

  var statuses: [PostgreSQLStatus] { boxes.map(\.value) }

  /// Bodies that wait or run now.
  var waiting: Int { work.count }

  func run<T: Sendable>(
    isTransaction: Bool, _ body: @escaping @Sendable (PostgreSQLSession) throws(PostgreSQLError) -> T
  ) async throws(PostgreSQLError) -> T {
    let result: Result<T, PostgreSQLError> = await withCheckedContinuation { continuation in
      submit(PendingBody(isTransaction: isTransaction, body, continuation))
    }
    return try result.get()
  }

  private func submit(_ body: PendingBody) {
    switch work.append(body) {
    case .waiting(let sleeper):
      if let sleeper { actors[sleeper].wake() }
    case .full:
      body.refuse(PostgreSQLError(.overloaded, "too many wait for \(name): the server is too slow"))
    case .closed:
      body.refuse(PostgreSQLError(.closed, "the connection was closed"))
    }
  }

  /// - Parameter last: runs on each open connection, after every other body.
  func close(
    within limit: Duration, last: (@Sendable (PostgreSQLSession) throws(PostgreSQLError) -> Void)? = nil
  ) async {
    work.close()
    closing.begin(cancelingAt: .now + limit)
    let waiting = work.takeAll()
    work.finish(waiting.count)
    for body in waiting { body.refuse(PostgreSQLError(.closed, "the connection was closed")) }
    for actor in actors { await actor.close(last) }
  }
}
