import CountersignConcurrency
import Dispatch
import Synchronization

/// One easy handle of libcurl with the connection that it keeps, on a queue of its own.
actor SMTPSession {
  enum Task: Sendable {
    case message(SMTPMessage)
    case check
  }

  private nonisolated let executor: SerialQueueExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private nonisolated let isCancelled = Atomic<Bool>(false)
  private let configuration: SMTPConfiguration
  private var handle: SMTPHandle?

  init(_ configuration: SMTPConfiguration) {
    self.configuration = configuration
    executor = SerialQueueExecutor(label: "countersign.smtp")
  }

  /// Blocks the queue until it is done.
  func run(_ task: Task, timeout: Duration, isFresh: Bool) async -> Result<SMTPReply, SMTPFailure> {
    isCancelled.store(_Concurrency.Task.isCancelled, ordering: .relaxed)
    return await withTaskCancellationHandler {
      perform(task, timeout: timeout, isFresh: isFresh)
    } onCancel: {
      isCancelled.store(true, ordering: .relaxed)
    }
  }

  private func perform(_ task: Task, timeout: Duration, isFresh: Bool) -> Result<SMTPReply, SMTPFailure> {
    guard let handle = handle ?? SMTPHandle(configuration) else {
      return .failure(SMTPFailure(kind: .other, stage: .connect, description: "no memory for a connection"))
    }
    self.handle = handle
    return handle.perform(task, timeout: timeout, isFresh: isFresh) {
      self.isCancelled.load(ordering: .relaxed)
    }
  }

  /// Says QUIT and closes the connection, on the session's own queue.
  nonisolated func close() {
    executor.queue.async { self.assumeIsolated { $0.handle = nil } }
  }
}
