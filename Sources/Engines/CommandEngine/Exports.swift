// A flow and a service see records, keys and working sets wherever they see the engine.
@_exported public import RecordStore
