/** Effects of a mistake at run time, the worst first, and the severities that a rule about such a mistake may have. */
export const CONSEQUENCES = {
  'does not start': ['error', 'warning'],
  'denies everyone': ['error', 'warning'],
  'lets anyone in': ['error', 'warning'],
  'wrong identity': ['error', 'warning'],
  degrades: ['warning', 'advice'],
  style: ['advice'],
} as const satisfies Record<string, readonly ('error' | 'warning' | 'advice')[]>

export type Consequence = keyof typeof CONSEQUENCES
