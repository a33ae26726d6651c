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
      Topology.Queues.work + consumed.map(Topology.Queues.dead) + RetryStep.allCases.map(\.queue))
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

  @Test("Nothing waits for a process that there is not") func nothingWaitsForAProcessThatThereIsNot() {
    #expect(!Topology.bindings.contains { Topology.Queues.accounts.contains($0.queue) })
  }
}
