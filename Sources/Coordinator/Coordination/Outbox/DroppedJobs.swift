import CountersignMessages
import CountersignTelemetry
import SQLite

/// Drops jobs that no queue took before their deadline, and reports them to their owners as a worker would: too late.
struct DroppedJobs: Sendable {
  let database: Database
  let retention: Duration
  let conversions: ConversionMonitor
  let metrics: CoordinatorMetrics
  let messages: ResultHandler
  let operations: OperationReports

  /// Removes jobs from a row of the outbox, and the row once it is empty.
  /// - Parameters:
  ///   - needed: messages that stay in the row.
  ///   - isTold: whether it is certain that no worker has them. Otherwise a worker may have carried them out: their
  ///     owners go on waiting for the result, or for their own deadline.
  func drop(
    _ jobs: [OutgoingMessage], from number: Int, leaving needed: [OutgoingMessage], isTold: Bool, at now: UnixTime
  ) async throws(DatabaseError) {
    do throws(DatabaseError) {
      try await remove(jobs, from: number, leaving: needed, isTold: isTold, at: now)
    } catch {
      // Their owner cannot be read or changed. That must not block the outbox.
      guard error.fault == .content else { throw error }
      metrics.skippedRows.with("outbox").increment()
      try await remove(jobs, from: number, leaving: needed, isTold: false, at: now)
    }
  }

  private func remove(
    _ jobs: [OutgoingMessage], from number: Int, leaving needed: [OutgoingMessage], isTold: Bool, at now: UnixTime
  ) async throws(DatabaseError) {
    let (counts, changes, new) = try await database.write { [self] session throws(DatabaseError) in
      let transaction = CoordinatorTransaction(session, at: now, retention: retention)
      if isTold {
        for job in jobs { try tell(job, in: transaction) }
      }
      if needed.isEmpty {
        try Outbox.delete([number], in: session)
      } else {
        try session.execute(
          "UPDATE outbox SET count = ?, messages = ? WHERE number = ?",
          [Value(needed.count), .blob(OutboxCodec.encode(needed)), Value(number)])
      }
      let new = try transaction.flush(forRelay: true)?.messages.count ?? 0
      return (transaction.counts, transaction.changes, new)
    }
    conversions.take(changes, at: now)
    metrics.count(counts)
    metrics.outboxMessages.add(Double(new - jobs.count))
  }

  private func tell(_ job: OutgoingMessage, in transaction: CoordinatorTransaction) throws(DatabaseError) {
    guard let type = MessageType(parsing: job.type) else { return }
    let cause = Envelope(
      type: JobResult.type(ofJob: type), messageID: job.messageID, correlationID: job.correlationID,
      trace: job.traceparent.flatMap(TraceContext.init(traceparent:)))
    if cause.type == ResultHandler.type, let name = SMSJobs.parse(jobID: job.messageID) {
      let report = JobReport(number: name.message, outcome: .expired, reason: .notTaken)
      try messages.handle(
        ResultReport(envelope: cause, verificationID: name.verificationID, report: report), in: transaction)
      return
    }
    guard let report = OperationReport(ofDropped: job.messageID, cause) else { return }
    try operations.handle(report, in: transaction)
  }
}

extension OperationReport {
  /// The report on a job that no worker has seen; `nil` when no owner waits for it.
  fileprivate init?(ofDropped jobID: String, _ cause: Envelope) {
    guard let kind = OperationReports.kinds[cause.type], let name = JobName(parsing: jobID, kind) else {
      return nil
    }
    self.init(
      envelope: cause, owner: name.owner, kind: kind,
      report: JobReport(number: 1, outcome: .expired, reason: .notTaken))
  }
}

extension VerificationFailure {
  fileprivate static let notTaken = VerificationFailure(
    code: "NOT_TAKEN", detail: "no queue took the job in time: see whether the queue is full, or missing")
}
