public import CountersignMessages

/// What a job type adds to its results, by field name.
public typealias ResultExtras = [String: JobResult.Value]
