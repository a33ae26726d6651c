import CountersignMessages
import Testing

@Suite struct TopologyTests {
  @Test("Retry delays are rounded up to a step") func retryDelaysAreRoundedUpToAStep() {
    #expect(RetryStep.allCases.map(\.exchange).first == "countersign.retry.5s")
    #expect(RetryStep.covering(.zero) == .fiveSeconds)
    #expect(RetryStep.covering(.seconds(5)) == .fiveSeconds)
    #expect(RetryStep.covering(.seconds(6)) == .thirtySeconds)
    #expect(RetryStep.covering(.seconds(100_000)) == .oneHour)
    #expect(
      (0...7).map(RetryStep.after(attempt:)).map(\.rawValue) == ["5s", "5s", "30s", "2m", "10m", "1h", "1h", "1h"])
    #expect(RetryStep.allCases == RetryStep.allCases.sorted())
  }

  @Test("A queue of jobs is named after their type") func aQueueOfJobsIsNamedAfterTheirType() {
    #expect(
      Topology.Queues.jobTypes == [
        SMSDispatchJob.routingKey, PushVerifyJob.routingKey, RecaptchaAssessJob.routingKey, MailRelayJob.routingKey,
        AppleRevokeJob.routingKey,
      ])
  }

  @Test("Every binding is between things that exist") func everyBindingIsBetweenThingsThatExist() {
    let exchanges = Set(Topology.exchanges.map(\.name))
    let consumed = Topology.Queues.work + Topology.Queues.accounts
    let queues = Set(
      Topology.Queues.work + [Topology.Queues.accountsCommands] + consumed.map(Topology.Queues.dead)
        + RetryStep.allCases.map(\.queue))
    #expect(Set(Topology.bindings.map(\.exchange)).isSubset(of: exchanges))
    #expect(Set(Topology.bindings.map(\.queue)) == queues)
  }

  @Test("The coordinator hears of every job type and not of bulk") func theCoordinatorHearsOfEveryJobTypeAndNotOfBulk()
  {
    let keys = Topology.bindings.filter { $0.queue == Topology.Queues.results }.map(\.routingKey)
    #expect(
      keys == [
        "sms.dispatch.*", "push.verify.*", "recaptcha.assess.*", "mail.relay.*", "apple.revoke.*", "sms.delivery.*",
      ])
  }

  @Test("No former binding is declared") func noFormerBindingIsDeclared() {
    #expect(Topology.formerBindings.map(\.routingKey) == ["#"])
    #expect(Set(Topology.formerBindings).isDisjoint(with: Topology.bindings))
  }

  @Test("Each command has one queue") func eachCommandHasOneQueue() {
    let bound = Topology.bindings.filter { $0.exchange == Topology.Exchanges.commands }
    #expect(Set(bound.map(\.routingKey)).count == bound.count)
    #expect(
      Set(bound.filter { $0.queue == Topology.Queues.accountsCommands }.map(\.routingKey)) == [
        "account.signInWithPhone", "account.signUp", "account.lookup", "account.update", "account.delete",
        "account.reset", "session.refresh", "keys.get", "keys.rotate",
      ])
    let toCoordinator = bound.filter { $0.queue == Topology.Queues.commands }.map(\.routingKey)
    #expect(toCoordinator.contains("development.reset") && toCoordinator.count + 9 == bound.count)
  }

  @Test("Nothing waits for a reader that there is not") func nothingWaitsForAReaderThatThereIsNot() {
    let unread = [Topology.Queues.accountsOperations] + Topology.Queues.locks
    #expect(!Topology.bindings.contains { unread.contains($0.queue) })
  }

  @Test("Each work queue has one user that consumes it") func eachWorkQueueHasOneUserThatConsumesIt() {
    for queue in Topology.Queues.accounts {
      #expect(Topology.Users.consumer(of: queue) == Topology.Users.accounts, "\(queue)")
    }
    for queue in Topology.Queues.work { #expect(Topology.Users.consumer(of: queue) != nil, "\(queue)") }
    #expect(Topology.Users.consumer(of: Topology.Queues.accountsCommandsLock) == nil)
  }
}
