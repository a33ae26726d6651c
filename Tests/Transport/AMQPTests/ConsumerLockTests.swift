import Testing

@testable import CountersignAMQP

@Suite struct ConsumerLockTests {
  private let lock = ConsumerLock(queue: "c.lock", consumed: "c")

  /// Replies of RabbitMQ 3.10 and 4.
  @Test(
    arguments: [
      (
        403, "ACCESS_REFUSED - queue 'c.lock' in vhost '/' in exclusive use", AMQPError.Code.resourceLocked,
        "another process"
      ),
      (405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue", .resourceLocked, "another process"),
      (
        403, "ACCESS_REFUSED - access to queue 'c.lock' in vhost '/' refused for user 'u'", .accessRefused,
        "topology apply"
      ),
      (403, "ACCESS_REFUSED - read access to queue 'c.lock' refused for user 'u'", .accessRefused, "topology apply"),
      (404, "NOT_FOUND - no queue 'c.lock' in vhost '/'", .notFound, "topology apply"),
      (404, "NOT_FOUND - queue 'c.lock' in vhost '/' process is stopped by supervisor", .notFound, "stopped"),
      (541, "INTERNAL_ERROR", .connectionLost, "INTERNAL_ERROR"),
    ])
  func `Tells the holder from what is missing`(reply: Int, text: String, code: AMQPError.Code, words: String) {
    let error = lock.explain(ReplyCodes.error(reply, text))
    #expect(error.code == code && error.replyCode == reply)
    #expect(error.message.contains(words))
  }
}
