/// A prepared job with its handler, with erased types: the engine behind it is not generic, and so not slowed down by
/// types that are only known at run time.
protocol HandlerCall: Sendable {
  func perform(on lane: String, _ attempt: JobAttempt) async -> Classification
  func lookUp(on lane: String, _ attempt: JobAttempt) async -> Classification?
}

struct JobCall<Handler: JobHandler>: HandlerCall {
  let handler: Handler
  let job: Handler.Job

  func perform(on lane: String, _ attempt: JobAttempt) async -> Classification {
    await handler.perform(job, on: lane, attempt)
  }

  func lookUp(on lane: String, _ attempt: JobAttempt) async -> Classification? {
    await handler.lookUp(job, on: lane, attempt)
  }
}
