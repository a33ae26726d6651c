import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Effect of a number whose code was given back as a second factor: it is enrolled, or signs in.
struct PhoneFactor {
  let project: String
  let proven: ProvenNumber
  let request: PhoneFactorRequest
  let cause: Envelope
  let reader: CommandReader
  let runs: SignInRuns
  let mail: EnrollmentMail

  func carryOut(in set: inout WorkingSet) throws(StoreError) -> SignInOutcome {
    let seal: ReplySeal
    do throws(APIError) {
      seal = try runs.seals.value(of: cause.identity.key) { () throws(APIError) in
        try reader.seal(request.replyKey, cause, AccountSignedIn.type)
      }
    } catch {
      return .refused(error)
    }
    switch request.asker {
    case .user(let caller):
      switch try caller.holder(in: set, reader.rules.sessions) {
      case .failure(let error): return .refused(error)
      case .success(let holder): return try enroll(on: holder, seal, in: &set)
      }
    case .pending(let ids):
      switch try reader.tickets.pendingSignIn(ids, project: project, in: set) {
      case .failure(let error): return .refused(error)
      case .success(let open): return try finish(open, seal, in: &set)
      }
    }
  }

  // MARK: Enrolling

  private func enroll(
    on holder: IDTokenCheck.Holder, _ seal: ReplySeal, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    let enrollment: Enrollment
    do throws(APIError) {
      enrollment = Enrollment(kind: .phone, project: try reader.project(project), reader: reader)
    } catch {
      return .refused(error)
    }
    // Since the command arrived, another one may have changed the account.
    if let refusal = enrollment.refusal(of: holder, arrivedAt: request.arrivedAt)
      ?? holder.account.refusal(ofFactor: proven.number)
    {
      return .refused(refusal)
    }
    var factor = SecondFactor(.phone, enrollmentID: runs.random.enrollmentID, enrolledAt: set.now)
    factor.displayName = request.displayName
    factor.phoneNumber = proven.number
    factor.isNumberFictional = proven.isFictional
    let enrolled = try enrollment.add(
      factor, to: holder, telling: mail, eventID: runs.random.eventID, cause: cause, in: &set)
    let answers = SignInAnswers(reader: reader, seal: seal)
    return SignInOutcome(answer: try answers.tokens(enrolled, isNewUser: false, at: set.now), usesProof: true)
  }

  // MARK: Signing in

  private func finish(
    _ open: OpenPendingSignIn, _ seal: ReplySeal, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    do throws(APIError) {
      try reader.requireMethod(.secondFactor(.phone), of: project)
    } catch {
      return .refused(error)
    }
    var account = open.account
    guard let place = account.secondFactors.firstIndex(where: { $0.phoneNumber == proven.number }) else {
      return .refused(.enrollmentNotFound)
    }
    if proven.isFictional, !account.secondFactors[place].isNumberFictional {
      set.afterCommit { [refusals = reader.rules.fictionalRefusals] in refusals.count() }
      return .refused(.numberProvenForReal)
    }
    account.secondFactors[place].isNumberFictional = proven.isFictional
    let answer = try open.finish(
      account, with: account.secondFactors[place], reader, runs, seal, cause: cause, in: &set)
    return SignInOutcome(answer: answer, usesProof: true)
  }
}

extension AccountRecord {
  /// Reason that a number cannot become a second factor of the account.
  func refusal(ofFactor number: String) -> APIError? {
    if secondFactor(byNumber: number) != nil { return .secondFactorExists }
    return number == phoneNumber ? .numberOfBothFactors : nil
  }
}
