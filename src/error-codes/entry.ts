/** An error of the API: its HTTP status, when it happens, and what the caller changes. */
export type ErrorEntry = { readonly status: number; readonly meaning: string; readonly remedy: string }

/** A code without an HTTP status of its own: of an item of a result, of a step, or of a problem of a definition. */
export type CodeEntry = Omit<ErrorEntry, 'status'>
