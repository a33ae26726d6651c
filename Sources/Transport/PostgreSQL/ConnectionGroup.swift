import CountersignConcurrency
import CountersignTelemetry

/// One or several connections to the same servers, and the bodies that wait for them.
final class ConnectionGroup: Sendable {
  private let work: WorkQueue<SessionBody>
  private let workers: [ConnectionWorker]
  private let boxes: [StatusBox<PostgreSQLStatus>]
  private let closing = Closing()
  private let name: String

  init(_ setting: ConnectionSetting, count: Int) throws(StoreError) {
    try setting.options.check()
    try setting.endpoint.check()
    let work = WorkQueue<SessionBody>(connections: count, limit: setting.options.maxWaiting)
    let boxes = (0..<count).map { _ in StatusBox(PostgreSQLStatus()) }
    let closing = closing
    self.work = work
    self.boxes = boxes
    name = setting.endpoint.description
    workers = boxes.enumerated().map { number, box in
      ConnectionWorker(setting, number: number, work: work, status: box, closing: closing)
    }
  }

  var statuses: [PostgreSQLStatus] { boxes.map(\.value) }

  /// Bodies that wait or run now.
  var waiting: Int { work.count }

  func run<T: Sendable>(
    isTransaction: Bool, _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    let result: Result<T, StoreError> = await withCheckedContinuation { continuation in
      submit(SessionBody(isTransaction: isTransaction, body, continuation))
    }
    return try result.get()
  }

  private func submit(_ body: SessionBody) {
    switch work.append(body) {
    case .waiting(let sleeper):
      if let sleeper { workers[sleeper].wake() }
    case .full:
      body.refuse(StoreError(.overloaded, "too many wait for \(name): the server is too slow"))
    case .closed:
      body.refuse(StoreError(.closed, "the connection was closed"))
    }
  }

  func close(
    within limit: Duration, last: (@Sendable (PostgreSQLSession) throws(StoreError) -> Void)? = nil
  ) async {
    work.close()
    closing.begin(cancelingAt: .now + limit)
    let waiting = work.takeAll()
    work.finish(waiting.count)
    for body in waiting { body.refuse(StoreError(.closed, "the connection was closed")) }
    for worker in workers { await worker.close(last) }
  }
}
