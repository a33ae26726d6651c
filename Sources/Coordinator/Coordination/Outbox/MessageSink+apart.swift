import CountersignAMQP

/// Outcome of a publication.
enum SendOutcome: Sendable, Hashable {
  /// The broker has answered.
  case answered(PublishOutcome)
  /// It was not sent, and never can be: AMQP has no room for it.
  case unpublishable(AMQPError)
}

extension MessageSink {
  /// Publishes like ``MessageSink/publish(_:)``, except that an unpublishable message fails alone, and the others go
  /// out.
  ///
  /// - Throws: errors that concern no single message, such as the end of the publisher.
  func publishApart(_ batch: [Publication]) async throws(AMQPError) -> [SendOutcome] {
    do throws(AMQPError) {
      return try await publish(batch).map { .answered($0) }
    } catch {
      guard error.isOfMessage else { throw error }
      guard batch.count > 1 else { return batch.map { _ in .unpublishable(error) } }
    }
    // Halves, in order: of many good messages none waits for more than a few others.
    let middle = batch.count / 2
    let first = try await publishApart(Array(batch[..<middle]))
    return first + (try await publishApart(Array(batch[middle...])))
  }
}

extension AMQPError {
  /// Whether the same message fails in the same way at every attempt.
  var isOfMessage: Bool { code == .tooLarge }
}
