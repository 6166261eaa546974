/**
 * What a failure does, the worst first, and the severities that a rule about it may have: an error where the object alone
 * decides, else a warning.
 */
export const CONSEQUENCES = {
  'does not start': ['error', 'warning'],
  'denies everyone': ['error', 'warning'],
  'lets anyone in': ['error', 'warning'],
  'wrong identity': ['error', 'warning'],
  degrades: ['warning', 'advice'],
  style: ['advice'],
} as const satisfies Record<string, readonly ('error' | 'warning' | 'advice')[]>

export type Consequence = keyof typeof CONSEQUENCES
