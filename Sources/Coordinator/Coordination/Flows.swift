import CountersignCryptography
import CountersignMessages

/// The flows of the coordinator, made once, and shared by its queues and its maintenance.
struct Flows: Sendable {
  let decoder: CommandDecoder
  let commands: CommandHandler
  let assessments: AssessmentService
  let revocations: RevocationService
  /// Reports on jobs other than SMS.
  let reports: OperationReports

  /// Secrets of the configuration.
  struct Secrets: Sendable {
    var codes: VerificationCodes
    var hashes: KeyedHashes
    var keys: KeyRing
  }

  /// - Parameter fictional: the fictional numbers in force, if they may change while the process runs.
  init(
    _ rules: CoordinatorRules, _ secrets: Secrets, conversions: ConversionMonitor, fictional: FictionalNumbers? = nil
  ) {
    let (codes, hashes, keys) = (secrets.codes, secrets.hashes, secrets.keys)
    let sealer = Sealer(keys: keys)
    let limits = RateLimits(rules.limits, subjects: hashes.subjects)
    let smsJobs = SMSJobs(sealer: sealer, onUnknown: rules.onUnknown)
    let proofJobs = ProofJobs(sealer: sealer)
    let revocationJobs = RevocationJobs(sealer: sealer)
    let starts = StartDecoder(
      rules, codes: codes, jobs: smsJobs, proofs: ProofDecoder(hashes: hashes, keys: keys), requesters: hashes,
      fictional: fictional ?? FictionalNumbers(rules))
    let appProofs = AppProofService(rules, hashes: hashes, limits: limits)
    let gate = ProofGate(
      rules, appProofs: appProofs, jobs: proofJobs, codes: codes, limits: limits, conversions: conversions)
    let verifications = VerificationService(
      rules, codes: codes, jobs: smsJobs, limits: limits, gate: gate, conversions: conversions)
    revocations = RevocationService(rules, jobs: revocationJobs, limits: limits)
    assessments = AssessmentService(starts: starts, verifications: verifications)
    decoder = CommandDecoder(
      rules, codes: codes, keys: keys, starts: starts, apps: AppOrderDecoder(rules, hashes: hashes, jobs: proofJobs),
      revocations: RevocationDecoder(rules, hashes: hashes, jobs: revocationJobs, keys: keys),
      conversions: conversions)
    commands = CommandHandler(
      rules, codes: codes, verifications: verifications, appProofs: appProofs, revocations: revocations,
      eraser: NumberEraser(rules, subjects: hashes.subjects))
    reports = OperationReports(appProofs: appProofs, assessments: assessments, revocations: revocations)
  }
}
