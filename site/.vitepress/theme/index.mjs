import DefaultTheme from 'vitepress/theme';
import './theme.css';
import Playground from '../../playground/Playground.vue';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component('Playground', Playground),
};
