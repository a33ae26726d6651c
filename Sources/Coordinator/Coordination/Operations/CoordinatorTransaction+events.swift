import CountersignMessages
import CountersignTelemetry
import SQLite

extension CoordinatorTransaction {
  /// Publishes an event through the outbox.
  func enqueue<Body: Event>(
    _ event: Body, id: String, correlationID: String, cause: Envelope?
  ) throws(DatabaseError) {
    do throws(ContractProblem) {
      enqueue(try OutgoingMessage.event(event, id: id, correlationID: correlationID, cause: cause, at: now))
    } catch {
      throw DatabaseError(.content, "an event cannot be written: \(error)")
    }
  }
}

extension CommandAnswer {
  /// A body that cannot be written undoes the batch, like a failure of the database.
  static func written(_ body: some MessageBody) throws(DatabaseError) -> CommandAnswer {
    do throws(ContractProblem) {
      return try CommandAnswer(body)
    } catch {
      throw DatabaseError(.content, "a reply cannot be written: \(error)")
    }
  }
}
