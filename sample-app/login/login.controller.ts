import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { RateLimit } from 'nestjs-redis-rate-limit';

const PASSWORDS = new Map([['ada', 'lovelace']]);

@Controller('login')
export class LoginController {
  /** Allows five failed attempts in any minute. Successful logins are not counted. */
  @RateLimit({
    name: 'login',
    window: '1m',
    limit: 5,
    algorithm: 'sliding-window-log',
    by: 'ip',
    count: 'failures',
  })
  @Post()
  @HttpCode(200)
  login(@Body() attempt?: { user?: unknown; password?: unknown }) {
    const { user, password } = attempt ?? {};
    if (typeof user !== 'string' || password === undefined || PASSWORDS.get(user) !== password) {
      throw new UnauthorizedException();
    }
    return { token: user };
  }
}
