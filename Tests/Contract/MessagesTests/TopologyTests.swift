import CountersignMessages
import Testing

@Suite struct TopologyTests {
  @Test func `Retry delays are rounded up to a step`() {
    #expect(Topology.Exchanges.retry("sms.dispatch") == "countersign.retry.sms.dispatch")
    #expect(Topology.Queues.retry("sms.dispatch", .twoMinutes) == "countersign.retry.sms.dispatch.2m")
    #expect(RetryStep.covering(.zero) == .fiveSeconds)
    #expect(RetryStep.covering(.seconds(5)) == .fiveSeconds)
    #expect(RetryStep.covering(.seconds(6)) == .thirtySeconds)
    #expect(RetryStep.covering(.seconds(100_000)) == .oneHour)
    #expect(
      (0...7).map(RetryStep.after(attempt:)).map(\.rawValue) == ["5s", "5s", "30s", "2m", "10m", "1h", "1h", "1h"])
    #expect(RetryStep.allCases == RetryStep.allCases.sorted())
  }

  @Test func `A queue of jobs is named after their type`() {
    #expect(
      Topology.Queues.jobTypes == [
        SMSDispatchJob.routingKey, PushVerifyJob.routingKey, RecaptchaAssessJob.routingKey, MailRelayJob.routingKey,
        MailForgetJob.routingKey, AppleRevokeJob.routingKey,
      ])
  }

  @Test func `Every binding is between things that exist`() {
    let exchanges = Set(Topology.exchanges.map(\.name))
    let consumed = Topology.Queues.work + Topology.Queues.services
    let queues = Set(
      Topology.Queues.work + [Topology.Queues.accountsCommands, Topology.Queues.webhookCommands]
        + consumed.map(Topology.Queues.dead)
        + Topology.Queues.jobs.flatMap { queue in RetryStep.allCases.map { Topology.Queues.retry(queue, $0) } })
    #expect(Set(Topology.bindings.map(\.exchange)).isSubset(of: exchanges))
    #expect(Set(Topology.bindings.map(\.queue)) == queues)
  }

  @Test func `The coordinator hears of the job types that it sends, and not of bulk`() {
    let keys = Topology.bindings.filter { $0.queue == Topology.Queues.results }.map(\.routingKey)
    #expect(
      keys == [
        "sms.dispatch.*", "push.verify.*", "recaptcha.assess.*", "mail.relay.*", "apple.revoke.*", "sms.delivery.*",
      ])
  }

  @Test(arguments: Topology.Queues.jobs)
  func `A delayed job can return to its own queue only`(queue: String) {
    let entries = Topology.bindings.filter { $0.exchange == Topology.Exchanges.retry(queue) }
    #expect(entries.map(\.routingKey) == ["5s", "30s", "2m", "10m", "1h"])
    #expect(entries.map(\.queue) == RetryStep.allCases.map { Topology.Queues.retry(queue, $0) })
    let returns = Topology.bindings.filter { $0.exchange == Topology.Exchanges.delayed && $0.routingKey == queue }
    #expect(returns.map(\.queue) == [queue])
  }

  @Test func `Workers of a job type report its delays`() {
    #expect(Topology.Users.worker(ofResults: JobDelayed.type(ofJob: SMSDispatchJob.type)) == Topology.Users.smsWorker)
    #expect(Topology.Users.worker(ofResults: MessageType("sms.other.delayed")) == nil)
  }

  @Test func `Events are bound by those who want them`() {
    #expect(!Topology.bindings.contains { $0.exchange == Topology.Exchanges.events })
  }

  @Test func `Each command has one queue`() {
    let bound = Topology.bindings.filter { $0.exchange == Topology.Exchanges.commands }
    #expect(Set(bound.map(\.routingKey)).count == bound.count)
    #expect(
      Set(bound.filter { $0.queue == Topology.Queues.accountsCommands }.map(\.routingKey)) == [
        "account.signInWithPhone", "account.signUp", "account.lookup", "account.update", "account.delete",
        "account.reset", "account.signInWithIdp", "account.revokeToken", "session.refresh", "keys.get", "keys.rotate",
        "account.signInWithPassword", "account.signInWithCustomToken", "account.findMethods", "account.sendMailLink",
        "account.applyMailLink", "account.signInWithMailLink", "account.grantAccess", "account.create",
        "account.change", "account.find", "account.list", "account.remove", "account.import", "session.createCookie",
        "account.settings", "account.setServiceAccount", "account.listServiceAccounts", "account.audit",
        "account.startIdp", "account.setProvider", "account.findProviders",
        "account.startVerification", "account.checkVerification", "account.getVerification",
        "account.cancelVerification",
        "account.noteApple", "account.startSecondFactor", "account.finishSecondFactor",
        "account.withdrawSecondFactor", "account.recordConsent",
      ])
    let toCoordinator = bound.filter { $0.queue == Topology.Queues.commands }.map(\.routingKey)
    #expect(toCoordinator.contains("development.reset") && toCoordinator.count + 41 + 5 == bound.count)
    #expect(
      Set(bound.filter { $0.queue == Topology.Queues.webhookCommands }.map(\.routingKey)) == [
        "webhook.add", "webhook.list", "webhook.remove", "webhook.enable", "webhook.replay",
      ])
  }

  @Test func `Nothing waits for a reader that there is not`() {
    #expect(!Topology.bindings.contains { Topology.Queues.locks.contains($0.queue) })
  }

  @Test func `Each work queue has one user that consumes it`() {
    for queue in Topology.Queues.accounts {
      #expect(Topology.Users.consumer(of: queue) == Topology.Users.accounts, "\(queue)")
    }
    for queue in Topology.Queues.webhooks {
      #expect(Topology.Users.consumer(of: queue) == Topology.Users.webhookWorker, "\(queue)")
    }
    for queue in Topology.Queues.work { #expect(Topology.Users.consumer(of: queue) != nil, "\(queue)") }
    #expect(Topology.Users.consumer(of: Topology.Queues.accountsCommandsLock) == nil)
  }
}
