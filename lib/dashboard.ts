// nestjs-redis-rate-limit/dashboard
export { RateLimitDashboardModule } from './nest/dashboard/rate-limit-dashboard.module.js';
export type { DashboardAction, RateLimitDashboardOptions } from './nest/dashboard/dashboard.options.js';
