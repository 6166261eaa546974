/** The message of whatever was thrown or rejected with; a value that is not an Error as text. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
